"""Working copies: made once, cached by content, and a damaged cache loses nothing."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from mediarank.content_cache import ContentCache
from mediarank.labels import Labels
from mediarank.media import copy_cache
from mediarank.media.files import Slice, sha256_of
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.shards import Cuts, Media, ShardWriter
from mediarank.media.working import encode_sound
from mediarank.stages.frames import Frames, build_frames
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.types import CheckFailed, DataError, MachineFault, Manifest

CONFIG, LIMITS = FramesConfig(max_side=64), Limits()


@pytest.fixture
def media(tmp_path: Path) -> Path:
    folder = tmp_path / "media"
    folder.mkdir()
    for k in range(4):
        cv2.imwrite(str(folder / f"{k}.png"), np.random.default_rng(k).integers(0, 255, (90, 120, 3), dtype=np.uint8))
    whole = (folder / "0.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    return folder


def manifest_of(media: Path) -> Manifest:
    return build_manifest(media, Labels({}), ManifestConfig())[0]


def run(media: Path, target: Path, cache: Path) -> Frames:
    return build_frames(manifest_of(media), media, target, CONFIG, LIMITS, cache)


def digest(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_copies_are_small_and_what_fails_joins_the_quarantine(media: Path, tmp_path: Path) -> None:
    made = run(media, tmp_path / "frames", tmp_path / "cache")
    assert list(made.frames["item_id"]) == ["0.png", "1.png", "2.png", "3.png"]
    assert made.frames[["width", "height"]].max().tolist() == [64, 48]
    assert list(made.failures) == ["cut.png"]
    _, _, quarantine = build_manifest(media, Labels({}), ManifestConfig())
    assert list(made.added_to(quarantine)["item_id"]) == ["cut.png"]


def test_the_cache_changes_no_byte(media: Path, tmp_path: Path) -> None:
    first = run(media, tmp_path / "one", tmp_path / "cache")
    second = run(media, tmp_path / "two", tmp_path / "cache")
    fresh = run(media, tmp_path / "three", tmp_path / "other")
    assert digest(tmp_path / "one") == digest(tmp_path / "two") == digest(tmp_path / "three")
    assert first.frames.equals(second.frames)
    assert first.frames.equals(fresh.frames)


def test_a_finished_shard_is_linked(media: Path, tmp_path: Path) -> None:
    run(media, tmp_path / "one", tmp_path / "cache")
    (shard,) = (tmp_path / "one").glob("*.tar")
    finished = {shard.name: shard}.get
    build_frames(manifest_of(media), media, tmp_path / "two", CONFIG, LIMITS, tmp_path / "cache", finished)
    assert (tmp_path / "two" / shard.name).samefile(shard)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_the_files_of_a_finished_shard_are_not_read(
    media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(media, tmp_path / "one", tmp_path / "cache")
    (shard,) = (tmp_path / "one").glob("*.tar")
    read: list[str] = []
    from_cache = ContentCache.read

    def noted(self: ContentCache, keys: Any) -> dict[str, bytes]:
        found = from_cache(self, keys)
        read.extend(found)
        return found

    monkeypatch.setattr(ContentCache, "read", noted)
    for finished, entries in (({shard.name: shard}.get, 4), ({}.get, 8)):
        read.clear()
        build_frames(manifest_of(media), media, tmp_path / str(entries), CONFIG, LIMITS, tmp_path / "cache", finished)
        assert len(read) == entries, "facts alone, or also the files"


def test_one_process_or_two(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for jobs in ("1", "2"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        run(media, tmp_path / jobs, tmp_path / f"cache{jobs}")
    assert digest(tmp_path / "1") == digest(tmp_path / "2")


def test_what_is_remembered_is_not_decoded_again(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    decode = copy_cache.guarded_iter

    def counted(work: Any, jobs: Any, *rest: Any, **more: Any) -> Any:
        decoded.extend(job.item_id for job in jobs)
        return decode(work, jobs, *rest, **more)

    monkeypatch.setattr(copy_cache, "guarded_iter", counted)
    run(media, tmp_path / "one", tmp_path / "cache")
    assert decoded == ["0.png", "1.png", "2.png", "3.png", "cut.png"]
    cv2.imwrite(str(media / "4.png"), np.zeros((20, 20, 3), np.uint8))
    run(media, tmp_path / "two", tmp_path / "cache")
    assert decoded[5:] == ["4.png", "cut.png"], "what failed is tried again"
    decoded.clear()
    build_frames(manifest_of(media), media, tmp_path / "x", FramesConfig(max_side=32), LIMITS, tmp_path / "cache")
    assert len(decoded) == 6, "other settings make other copies"


@pytest.mark.parametrize("entry", [1, 5])
def test_a_damaged_entry_is_made_again(media: Path, tmp_path: Path, entry: int) -> None:
    """Four entries are facts, four are files."""
    run(media, tmp_path / "one", tmp_path / "cache")
    with sqlite3.connect(ContentCache(tmp_path / "cache").path) as db:
        assert db.execute("SELECT COUNT(*) FROM entry").fetchone() == (8,)
        db.execute("UPDATE payload SET data = zeroblob(length(data)) WHERE id = ?", [entry])
    run(media, tmp_path / "two", tmp_path / "cache")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_nothing_decodes(tmp_path: Path, media: Path) -> None:
    for path in media.glob("?.png"):
        path.unlink()
    with pytest.raises(DataError, match="None of 1 items could be decoded"):
        run(media, tmp_path / "frames", tmp_path / "cache")


def test_too_many_failures_stop_the_run(media: Path, tmp_path: Path) -> None:
    made = run(media, tmp_path / "frames", tmp_path / "cache")
    made.require_few_failures(FramesConfig(max_failed_share=0.2), 5)
    with pytest.raises(CheckFailed, match=r"1 of 5 items.*max_failed_share.*cut\.png"):
        made.require_few_failures(FramesConfig(max_failed_share=0.1), 5)


def test_a_cache_that_can_not_be_written_to_is_not_used(media: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with_cache = run(media, tmp_path / "one", tmp_path / "cache")
    without = run(media, tmp_path / "two", tmp_path / "file/cache")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    assert with_cache.frames.equals(without.frames)


def test_a_full_disk_quarantines_nothing(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "data/frames/media/unfinished")

    monkeypatch.setattr(ShardWriter, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        run(media, tmp_path / "frames", tmp_path / "cache")


@pytest.mark.parametrize("name", ["2.png", "sound.wav"])
def test_a_damaged_shard_stops_the_run_and_quarantines_nothing(media: Path, tmp_path: Path, name: str) -> None:
    """A picture is read as a whole, a sound piece by piece; our copy of either is damaged, not what was collected."""
    (media / "sound.wav").write_bytes(encode_sound(np.zeros(4000, np.float32), 16000))
    with ShardWriter(tmp_path / "raw", Cuts(least=1, mean=1, most=1 << 20)) as shards:
        for path in sorted(media.iterdir()):
            shards.add(path.name, path, path.stat().st_size, sha256_of(path))
    intact, _, quarantine = build_manifest(tmp_path / "raw", Labels({}), ManifestConfig())
    assert quarantine.empty
    bad = Media(tmp_path / "raw")[name]
    assert isinstance(bad, Slice)
    content = bytearray(bad.shard.read_bytes())
    content[bad.offset + bad.length // 2] ^= 1
    bad.shard.write_bytes(content)
    said = rf"{bad.shard.name} is damaged where it holds {name}: run bin/mediarank verify"
    with pytest.raises(MachineFault, match=said):
        build_manifest(tmp_path / "raw", Labels({}), ManifestConfig())
    with pytest.raises(MachineFault, match=said):
        build_frames(intact, tmp_path / "raw", tmp_path / "frames", CONFIG, LIMITS, tmp_path / "cache")
