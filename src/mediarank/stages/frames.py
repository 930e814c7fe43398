"""Stage `frames`: each original is decoded once, into working copies that all later stages read.

An item whose header looked fine may still fail to decode; it is then added to the quarantine table with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mediarank import store
from mediarank.content_cache import MEDIA_BYTES, ContentCache
from mediarank.media.copy_cache import Job, working_copies
from mediarank.media.frames import FrameRow, FramesConfig, SoundRow, tables
from mediarank.media.guard import Failed
from mediarank.media.limits import Limits
from mediarank.media.shards import Deferred, Media, ShardWriter
from mediarank.types import CheckFailed, DataError, Manifest


@dataclass(frozen=True)
class Frames:
    """The working copies and the items that failed.

    frames, sounds : one row per working copy
    failures, notes : item -> why it failed, or what a damaged clip lost
    """

    frames: pd.DataFrame
    sounds: pd.DataFrame
    failures: dict[str, str]
    notes: dict[str, str]

    def added_to(self, quarantine: pd.DataFrame) -> pd.DataFrame:
        """The manifest's quarantine table with the items that failed here."""
        rows = [("file", item, item, reason) for item, reason in self.failures.items()]
        return pd.concat([quarantine, pd.DataFrame(rows, columns=quarantine.columns)], ignore_index=True)

    def require_few_failures(self, config: FramesConfig, items: int) -> None:
        """Stop the run if too many items can't be decoded: then the files are hardly the cause."""
        if len(self.failures) > config.max_failed_share * items:
            item, reason = next(iter(self.failures.items()))
            raise CheckFailed(
                f"{len(self.failures)} of {items} items can't be decoded, more than frames.max_failed_share allows "
                f"({config.max_failed_share:.0%}), such as {item}: {reason} Read data/frames/quarantine.csv; replace "
                "or remove these files, or raise frames.max_failed_share in params.yaml."
            )


def run(
    config: FramesConfig,
    limits: Limits,
    data: Path,
    cache: Path,
    finished: Callable[[str], Path | None] = lambda _: None,
) -> str:
    """Write `frames/media` and its tables; returns a line that says how many there are.

    finished : name of a shard -> a file that already holds it, or None
    """
    manifest = store.read_manifest(data / "manifest/manifest.parquet")
    quarantine = store.read_quarantine(data / "manifest/quarantine.csv")
    with store.atomic_folder(data / "frames/media") as target:
        made = build_frames(manifest, data / "raw/media", target, config, limits, cache / "frames", finished)
    store.write_table(data / "frames/frames.parquet", made.frames)
    store.write_table(data / "frames/sounds.parquet", made.sounds)
    store.write_csv(data / "frames/quarantine.csv", made.added_to(quarantine))
    made.require_few_failures(config, len(manifest.usable))
    return f"{len(made.frames)} pictures and {len(made.sounds)} sounds; {len(made.failures)} more in quarantine"


def build_frames(
    manifest: Manifest,
    media: Path,
    target: Path,
    config: FramesConfig,
    limits: Limits,
    cache: Path,
    finished: Callable[[str], Path | None] = lambda _: None,
) -> Frames:
    """Working copies of all usable items, in shards below `target`; those made before come from `cache`."""
    originals = Media(media)
    columns = (manifest.usable[name].tolist() for name in ("item_id", "path", "kind", "sha256"))
    jobs = [Job(item, originals[path], kind, sha256) for item, path, kind, sha256 in zip(*columns, strict=True)]
    frames: list[FrameRow] = []
    sounds: list[SoundRow] = []
    failures: dict[str, str] = {}
    notes: dict[str, str] = {}
    with ShardWriter(target, finished=finished) as shards:
        made = working_copies(jobs, config, limits, ContentCache(cache, MEDIA_BYTES))
        for job, outcome in zip(jobs, made, strict=True):
            if isinstance(outcome, Failed):
                failures[job.item_id] = outcome.reason
                continue
            for path, digest in sorted(outcome.digests.items()):
                shards.add(path, Deferred(path, outcome.contents), outcome.lengths[path], digest)
            frames += outcome.frames
            sounds += [outcome.sound] if outcome.sound else []
            if outcome.note:
                notes[job.item_id] = outcome.note
    if not frames and not sounds:
        raise DataError(f"None of {len(jobs)} items could be decoded, such as {next(iter(failures.items()), 'none')}.")
    return Frames(*tables(frames, sounds), failures, notes)
