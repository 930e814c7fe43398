"""Key frames of video shots with concepts, as in TRECVID.

`shots.csv` (or `keyframes.csv`, or .txt without column names) lists shot, keyframe and optionally video and role; a
shot may have several key frames, and each of them gets the labels of the shot. Relevance is in a
`concepts.csv` (shot, concept, relevant), or in one file per concept below `concepts/`, `relevance/`, `annotations/` or
`qrels/`: a line is a shot and its relevance (1 or 0, P or N; S is skipped), a shot alone is relevant, and of TREC's
four columns (topic, 0, shot, relevance) the last two count. Key frames of one video are one group. Without a column,
the video of shot12_34 is 12; otherwise it is the folder of the frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.listing import Listing
from mediarank.collections.names import Names
from mediarank.collections.tables import flag, make_labels, read_csv, read_lines, role
from mediarank.collections.tree import media_below
from mediarank.types import DataError

LISTS: Final = ("shots.csv", "keyframes.csv", "shots.txt", "keyframes.txt")
SHOTS: Final = ("shot", "shot_id", "id", "item", "keyframe", "path")
TABLE: Final = "concepts.csv"
FOLDERS: Final = ("concepts", "relevance", "annotations", "qrels")
SHOT: Final = re.compile(r"^shot(?P<video>[^_]+)_[^_]+")
SKIPPED: Final = ("s", "?", "skip")


@dataclass(frozen=True)
class Shot:
    """One key frame of a shot; a shot may have several."""

    shot: str
    frame: str
    video: str
    role: str


def recognises(folder: Path) -> bool:
    return _list(folder) is not None and bool(_relevance_files(folder))


def read(folder: Path) -> Listing:
    path = _list(folder)
    if path is None:
        raise DataError(
            f"{folder} holds no list of shots; expected is {LISTS[0]} with the columns shot,keyframe,video."
        )
    tree = media_below(folder)
    names = Names(tree.files)
    shots = _shots(path, names)
    frames: dict[str, list[str]] = {}
    for shot in shots:
        frames.setdefault(shot.shot, []).append(shot.frame)
    concepts: dict[tuple[str, str, bool], None] = {}
    for file in _relevance_files(folder):
        for concept, name, relevant in _judged(file):
            # A name that is not a shot's may be a key frame's; otherwise the row goes to the quarantine table.
            shown = frames.get(name) or [names.item(name)]
            concepts |= dict.fromkeys((frame, concept, relevant) for frame in shown)
    files = {shot.frame: tree.files[shot.frame] for shot in shots if shot.frame in tree.files}
    if not files:
        raise DataError(f"{folder} holds none of the key frames that {path.name} names, such as {shots[0].frame}.")
    unlisted = len(tree.files) - len(files)
    notes = (f"{unlisted} pictures are not key frames in {path.name} and are left out",) if unlisted else ()
    return Listing(
        files,
        make_labels(
            concepts=concepts,
            groups=[(shot.frame, f"video {shot.video}") for shot in shots if shot.video],
            splits=[(shot.frame, shot.role) for shot in shots if shot.role],
        ),
        (*tree.notes, *notes),
    )


def _list(folder: Path) -> Path | None:
    return next((path for name in LISTS if (path := folder / name).is_file()), None)


def _relevance_files(folder: Path) -> list[Path]:
    places = [folder / name for name in FOLDERS if (folder / name).is_dir()]
    found = sorted(path for place in places for path in place.iterdir() if path.is_file() and path.name[0] != ".")
    return [*found, *(path for path in (folder / TABLE,) if path.is_file())]


def _shots(path: Path, names: Names) -> list[Shot]:
    if path.suffix == ".csv":
        table = read_csv(path)
        shots, frames = (
            table.column("shot", "shot_id", "id"),
            table.column("keyframe", "path", "frame", "file", "image"),
        )
        videos = table.column("video", "video_id") if table.find("video", "video_id") else [""] * len(shots)
        roles = table.converted(found, role) if (found := table.find("role", "split", "part")) else [""] * len(shots)
    else:
        split = [re.split(r"[\s,;]+", line) for line in read_lines(path)]
        split = [line for line in split if line[0].lower() not in SHOTS]  # a line of column names
        short = next((line for line in split if len(line) < 2), None)
        if short:
            raise DataError(f"{path}: a line must be a shot and its key frame, found {' '.join(short)!r}.")
        shots, frames = [line[0] for line in split], [line[1] for line in split]
        videos, roles = [line[2] if len(line) > 2 else "" for line in split], [""] * len(split)
    if not shots:
        raise DataError(f"{path} lists no shot.")
    return [
        Shot(shot, frame, video or _video(shot, frame), part)
        for shot, frame, video, part in zip(shots, names.items(frames), videos, roles, strict=True)
    ]


def _video(shot: str, frame: str) -> str:
    match = SHOT.match(shot)
    return match["video"] if match else PurePosixPath(frame).parent.name


def _judged(path: Path) -> Iterator[tuple[str, str, bool]]:
    """(concept, shot, relevant) of each line."""
    if path.name == TABLE and path.parent.name not in FOLDERS:
        table = read_csv(path)
        relevant = table.converted("relevant", flag)
        yield from zip(table.column("concept"), table.column(*SHOTS), relevant, strict=True)
        return
    for line, text in enumerate(read_lines(path), start=1):
        parts = [part for part in re.split(r"[\s,;]+", text) if part]
        if line == 1 and parts[0].lower() in SHOTS:
            continue
        concept, shot, said = path.stem, parts[0], parts[1] if len(parts) > 1 else "1"
        if len(parts) == 4:
            concept, shot, said = (path.stem if parts[0].isdecimal() else parts[0]), parts[2], parts[3]
        if said.lower() in SKIPPED:
            continue
        try:
            yield concept, shot, flag(said)
        except ValueError:
            raise DataError(f"{path}, line {line}: relevance is 1 or 0 (P or N, S to skip), not {said!r}.") from None
