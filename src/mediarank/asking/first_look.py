"""A first look at a folder: what is in it, which labels were found, what can be learned, and what a run will cost.

Every file's header is read (of a large folder, a sample), and the first pictures are decoded, which gives the time per
picture and the near-duplicates among neighbours. Nothing is written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from mediarank import fanout
from mediarank.asking.run_cost import OF_THE_DEMO, Costs, EarlierRun, cost_lines, in_bytes
from mediarank.collections.listing import Listing
from mediarank.collections.sources import AUTO, open_collection, recognise
from mediarank.collections.tree import media_below, obstacles
from mediarank.labels import Labels
from mediarank.media.frames import FramesConfig, WorkingCopies, make_working_copies
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import Probe, probe
from mediarank.media.working import read_picture
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.types import ConfigError

MOST_HEADERS: Final = 5000
MOST_PICTURES: Final = 300
FEW: Final = 20
"""With fewer labelled items than this, there are too few to learn from and to test."""


@dataclass(frozen=True)
class FirstLook:
    """What was found, as `lines` to print; `source` is the layout that was recognised."""

    folder: Path
    source: str
    lines: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def folder_of(text: str, project: Path) -> Path:
    """The folder that a person named, as an absolute path; ConfigError if it can't be a collection."""
    folder = Path(text).expanduser()
    if not folder.exists():
        raise ConfigError(f"{folder} does not exist. Check the spelling; `ls {folder.parent}` shows what is there.")
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file. Name the folder that it is in: {folder.resolve().parent}")
    folder = folder.resolve()
    if project.resolve().is_relative_to(folder):
        raise ConfigError(f"{folder} holds this project itself. Name the folder of your pictures, clips or sounds.")
    tree = media_below(folder)
    if not tree.files:
        there = ", ".join(f"{row.files} {row.kind}" for row in tree.counted()) or "it is empty"
        raise ConfigError(f"{folder} holds no image, clip or sound ({there}). Name a folder that does.")
    return folder


def look(
    folder: Path,
    limits: Limits,
    config: FramesConfig,
    costs: Costs,
    min_items: int,
    bits: int,
    earlier: EarlierRun = OF_THE_DEMO,
) -> FirstLook:
    """Look at a folder that `folder_of` accepted.

    costs : of describing one picture
    min_items : the fewest items that the check of the collection accepts
    bits : greatest difference of near-duplicates
    earlier : how long the stages took in an earlier run
    """
    source = recognise(folder)
    listing = open_collection(folder, source)
    if len(listing.files) < min_items:
        raise ConfigError(
            f"{folder} holds {len(listing.files)} usable media file(s), but a run needs {min_items} or more "
            "(check_manifest.min_items in params.yaml). Add files, or lower that number."
        )
    items = _sample(list(listing.files), MOST_HEADERS)
    headers = guarded_map(
        partial(probe, limits=limits), [listing.files[i] for i in items], "headers", limits.timeout_seconds
    )
    seen = {item: header for item, header in zip(items, headers, strict=True) if not isinstance(header, Failed)}
    reasons = {item: header.reason for item, header in zip(items, headers, strict=True) if isinstance(header, Failed)}
    pictures = [item for item in items if item in seen and seen[item].kind == "image"][:MOST_PICTURES]
    copies, seconds, size = _decoded(pictures, listing.files, config, limits)
    share = len(listing.files) / len(items)
    blocked = obstacles(folder)
    lines = [
        *_contents(folder, source, listing, seen, share),
        *_dates(seen),
        *(f"  {note}" for note in listing.notes),
        *_learnable(listing.labels.restricted_to(listing.files), len(listing.files), seen),
        *_problems(reasons, blocked),
        *_duplicates(copies, bits),
        *cost_lines(listing, len(seen) * share, seconds, size, costs, earlier),
    ]
    return FirstLook(folder, AUTO if source == "folder" else source, tuple(lines), tuple(blocked))


def example_picture(folder: Path, config: FramesConfig, limits: Limits) -> Any:
    """The first picture of a folder that can be decoded, at working size; None if no picture can."""
    for item, path in media_below(folder).files.items():
        made = guarded_map(_Copy(config, limits), [(item, path)], "one picture", limits.timeout_seconds)[0]
        if not isinstance(made, Failed) and made.frames:
            return read_picture(made.files[made.frames[0].path])
    return None


@dataclass(frozen=True)
class _Copy:
    """Makes the working copy of one (item, path); importable, so that child processes can run it."""

    config: FramesConfig
    limits: Limits

    def __call__(self, job: tuple[str, Path]) -> WorkingCopies:
        return make_working_copies(job[0], job[1], probe(job[1], self.limits).kind, self.config, self.limits)


def _decoded(
    pictures: Sequence[str], files: Mapping[str, Path], config: FramesConfig, limits: Limits
) -> tuple[list[WorkingCopies], float, float]:
    """Working copies of the pictures, seconds of one core per picture, and bytes per working copy."""
    if not pictures:
        return [], 0.0, 0.0
    start = time.perf_counter()
    jobs = [(item, files[item]) for item in pictures]
    outcomes = guarded_map(_Copy(config, limits), jobs, "pictures", limits.timeout_seconds)
    seconds = (time.perf_counter() - start) * min(fanout.jobs(), len(jobs)) / len(jobs)
    made = [copies for copies in outcomes if not isinstance(copies, Failed)]
    return made, seconds, sum(len(content) for copies in made for content in copies.contents.values()) / len(jobs)


def _sample(items: list[str], most: int) -> list[str]:
    """All items, or `most` of them at even steps."""
    step = len(items) / min(len(items), most)
    return [items[int(k * step)] for k in range(min(len(items), most))]


def _contents(folder: Path, source: str, listing: Listing, seen: Mapping[str, Probe], share: float) -> list[str]:
    kinds = Counter(header.kind for header in seen.values())
    endings = Counter(path.suffix.lower() for path in listing.files.values())
    size = sum(path.stat().st_size for path in listing.files.values())
    counted = ", ".join(f"{round(count * share)} {kind}s" for kind, count in kinds.most_common()) or "nothing usable"
    about = "about " if share > 1 else ""
    named = ", ".join(f"{ending} {count}" for ending, count in endings.most_common(8))
    return [
        f"{folder}: {about}{counted}, {in_bytes(size)} ({named})",
        f"  read as `{source}`",
    ]


def _dates(seen: Mapping[str, Probe]) -> list[str]:
    times = sorted(header.taken.taken_at for header in seen.values() if header.taken.taken_at)
    cameras = Counter(header.taken.camera for header in seen.values() if header.taken.camera)
    places = sum(header.taken.latitude == header.taken.latitude for header in seen.values())
    if not times and not cameras:
        return ["  no dates or cameras are written in the files"]
    span = f"{len(times)} with a date, from {times[0][:10]} to {times[-1][:10]}" if times else "no dates"
    named = ", ".join(f"{camera} {count}" for camera, count in cameras.most_common(3)) or "no camera"
    return [f"  {span}; {named}; {places} with a place"]


def _learnable(labels: Labels, files: int, seen: Mapping[str, Probe]) -> list[str]:
    """One line per system: whether it has labels to learn from."""
    clips = sum(header.kind == "clip" for header in seen.values())
    classes, words = labels.class_of, set(labels["keywords"]["item"])
    ordered = len(labels["orderings"]) + len(labels["pairs"])
    shown = len(labels.looked_at)
    events = labels["events"]["clip"].nunique()
    count = len(set(classes.values()))
    taught = f"learned from {count} classes" if count else "without labels; what people click makes it better"
    return [
        "What can be learned:",
        f"  retrieval   yes: {taught}",
        _line("concepts", shown, f"{shown} of {files} files have concepts, keywords or a class"),
        _line("annotation", len(words), f"{len(words)} of {files} files have keywords"),
        _line("events", events, f"{events} of {clips} clips have an event"),
        _line("attributes", ordered, f"{ordered} orderings or pairs"),
    ]


def _line(system: str, count: int, found: str) -> str:
    verdict = "yes" if count >= FEW else ("hardly" if count else "no")
    return f"  {system:<11} {verdict}: {found}"


def _problems(reasons: Mapping[str, str], blocked: Sequence[str]) -> list[str]:
    if not reasons and not blocked:
        return ["Problems: none found"]
    lines = ["Problems:"]
    for reason, count in Counter(reasons.values()).most_common(5):
        example = next(item for item, why in reasons.items() if why == reason)
        lines.append(f"  {count} can't be used: {reason} Such as {example}")
    return lines + [f"  DVC will stop at {obstacle}" for obstacle in blocked[:5]]


def _duplicates(copies: Sequence[WorkingCopies], bits: int) -> list[str]:
    if not copies:
        return []
    rows = [made.frames[0] for made in copies if made.frames]
    groups: dict[int, list[str]] = {}
    for number, row in zip(near_duplicate_groups([row.phash for row in rows], bits).tolist(), rows, strict=True):
        groups.setdefault(number, []).append(row.item_id)
    alike = [items for items in groups.values() if len(items) > 1]
    if not alike:
        return [f"Near-duplicates: none among the first {len(rows)} pictures"]
    such = " and ".join(alike[0][:2])
    return [f"Near-duplicates: {len(alike)} groups among the first {len(rows)} pictures, such as {such}"]
