"""Key frames: shots, relevance in several dialects, groups by video."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import put, refused, rows, write

from mediarank.collections import keyframes
from mediarank.types import DataError

FRAMES = ("v1/shot1_1_RKF.jpg", "v1/shot1_1_NRKF.jpg", "v1/shot1_2_RKF.jpg", "v2/shot2_1_RKF.jpg")
SHOTS = ("shot1_1", "shot1_1", "shot1_2", "shot2_1")
LINES = "".join(f"{shot},{frame}\n" for shot, frame in zip(SHOTS, FRAMES, strict=True))
BOAT = {FRAMES[0]: True, FRAMES[1]: True, FRAMES[2]: False, FRAMES[3]: True}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    put(tmp_path, *(f"keyframes/{frame}" for frame in FRAMES))
    return write(tmp_path, {"shots.csv": f"shot,keyframe\n{LINES}"})


def relevance(folder: Path) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for frame, concept, relevant in rows(keyframes.read(folder), "concepts"):
        found.setdefault(concept, {})[frame.removeprefix("keyframes/")] = relevant
    return found


@pytest.mark.parametrize(
    "files",
    [
        {"concepts/boat.txt": "shot1_1 1\nshot1_2 0\nshot2_1 1\n"},
        {"concepts/boat.csv": "shot,relevant\nshot1_1,1\nshot1_2,0\nshot2_1,1\n"},
        {"annotations/boat.ann": "shot1_1 P\nshot1_2 N\nshot2_1 P\n"},
        {"qrels/boat.qrel": "1001 0 shot1_1 1\n1001 0 shot1_2 0\n1001 0 shot2_1 1\n"},
        {"qrels/all.qrel": "boat 0 shot1_1 1\nboat 0 shot1_2 0\nboat 0 shot2_1 1\n"},
        {"concepts.csv": "shot,concept,relevant\nshot1_1,boat,1\nshot1_2,boat,0\nshot2_1,boat,1\n"},
        {"relevance/boat.txt": "".join(f"{frame} {int(said)}\n" for frame, said in BOAT.items())},
    ],
    ids=lambda files: next(iter(files)),
)
def test_dialects_of_relevance(source: Path, files: dict[str, str]) -> None:
    write(source, files)
    assert keyframes.recognises(source)
    assert relevance(source) == {"boat": BOAT}


def test_a_list_of_shots_alone_are_the_relevant_ones_and_s_is_skipped(source: Path) -> None:
    write(source, {"concepts/boat.txt": "shot2_1\n", "concepts/sky.txt": "shot1_2 S\nshot2_1 1\n"})
    assert relevance(source) == {"boat": {FRAMES[3]: True}, "sky": {FRAMES[3]: True}}


@pytest.mark.parametrize(
    ("name", "text", "videos"),
    [
        ("shots.csv", "shot,keyframe\n" + LINES, ["1", "1", "1", "2"]),
        ("shots.csv", "shot,keyframe,video,split\n" + LINES.replace("\n", ",x,train\n"), ["x"] * 4),
        ("keyframes.txt", LINES.replace(",", " "), ["1", "1", "1", "2"]),
        ("keyframes.txt", LINES.replace(",", "\t").replace("shot1_", "a").replace("shot2_", "b"), None),
    ],
)
def test_groups_are_videos(source: Path, name: str, text: str, videos: list[str] | None) -> None:
    (source / "shots.csv").unlink()
    if videos is None:  # neither a column nor a shot's name tells the video
        text = "".join(f"s{k} keyframes/{frame}\n" for k, frame in enumerate(FRAMES))
        videos = ["v1", "v1", "v1", "v2"]
    listing = keyframes.read(write(source, {name: text}))
    assert dict(rows(listing, "groups")) == {
        f"keyframes/{frame}": f"video {video}" for frame, video in zip(FRAMES, videos, strict=True)
    }
    assert {role for _, role, _ in rows(listing, "splits")} == ({"base"} if "split" in text else set())


def test_what_is_not_there_ends_in_quarantine(source: Path) -> None:
    (source / "keyframes" / FRAMES[3]).unlink()
    put(source, "keyframes/poster.jpg")
    listing = keyframes.read(write(source, {"concepts/boat.txt": "shot2_1 1\nshot9_9 1\nshot1_2 1\n"}))
    why = "is about an item that is not in the collection"
    assert refused(listing) == {FRAMES[3]: why, "shot9_9": why}
    assert listing.notes == ("1 pictures are not key frames in shots.csv and are left out",)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"concepts/boat.txt": "shot1_1 perhaps\n"}, r"boat.txt, line 1: relevance is 1 or 0 .* not 'perhaps'"),
        ({"shots.csv": "shot,video\na,b\n"}, "lacks a column keyframe"),
        ({"shots.csv": "shot,keyframe\n"}, "lists no shot"),
        ({"shots.csv": "shot,keyframe\na,b.jpg\n"}, r"none of the key frames that shots.csv names, such as b.jpg"),
    ],
)
def test_what_is_refused(source: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        keyframes.read(write(source, files))


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    assert not keyframes.recognises(tmp_path)
    with pytest.raises(DataError, match=r"expected is shots.csv"):
        keyframes.read(tmp_path)
    with pytest.raises(DataError, match="a line must be a shot and its key frame, found 'alone'"):
        keyframes.read(write(tmp_path, {"shots.txt": "alone\n"}))
