"""What cameras write: date with or without offset, orientation, camera and place; missing values stay empty."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from making_media import encoded, scene, write_clip
from PIL import ExifTags, Image

from mediarank.media.exif import exif_time, iso_time, taken_of_clip
from mediarank.media.limits import Limits
from mediarank.media.probe import probe

TAGS = ExifTags.Base


def exif_block(details: dict[int, Any], place: dict[int, Any] | None = None, **base: Any) -> bytes:
    exif = Image.Exif()
    for name, value in base.items():
        exif[TAGS[name]] = value
    exif.get_ifd(ExifTags.IFD.Exif).update(details)
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(place or {})
    return exif.tobytes()


FULL = exif_block(
    {TAGS.DateTimeOriginal: "2019:07:14 18:30:05", TAGS.OffsetTimeOriginal: "+02:00"},
    {1: "S", 2: (33.0, 30.0, 36.0), 3: "E", 4: (151.0, 12.0, 0.0)},
    Make="Acme",
    Model="Acme One",
    Orientation=6,
)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "AVIF", "HEIF"])
def test_what_a_camera_wrote(tmp_path: Path, format: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(encoded(scene(1), format, exif=FULL))
    seen = probe(path, Limits())
    assert (seen.width, seen.height) == (96, 128)
    assert seen.taken.taken_at == "2019-07-14T18:30:05+02:00"
    assert seen.taken.orientation == 6
    assert seen.taken.camera == "Acme One"
    assert (seen.taken.latitude, seen.taken.longitude) == pytest.approx((-33.51, 151.2))


def test_a_picture_without_exif_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(scene(1), "JPEG"))
    taken = probe(path, Limits()).taken
    assert (taken.taken_at, taken.orientation, taken.camera) == ("", 0, "")
    assert math.isnan(taken.latitude)


@pytest.mark.parametrize(
    ("details", "time"),
    [
        ({TAGS.DateTimeOriginal: "2019:07:14 18:30:05"}, "2019-07-14T18:30:05"),
        ({TAGS.DateTimeOriginal: "2019:07:14 18:30:05", TAGS.OffsetTimeOriginal: "soon"}, "2019-07-14T18:30:05"),
        ({TAGS.DateTimeDigitized: "2019:07:14 18:30:05\x00"}, "2019-07-14T18:30:05"),
        ({TAGS.DateTimeOriginal: "0000:00:00 00:00:00"}, ""),
        ({TAGS.DateTimeOriginal: "0019:07:14 18:30:05"}, ""),
        ({TAGS.DateTimeOriginal: b"\xff\xff", TAGS.DateTimeDigitized: 7}, ""),
        ({TAGS.DateTime: "2019:07:14 18:30:05"}, ""),  # when the file was changed, not when it was taken
        ({}, ""),
    ],
)
def test_times(details: dict[int, Any], time: str) -> None:
    assert exif_time(details) == time


def test_iso_times() -> None:
    assert iso_time("2019-07-14T18:30:05+02:00") == "2019-07-14T18:30:05+02:00"
    assert iso_time("2019-07-14T18:30") == "2019-07-14T18:30:00"
    assert [iso_time(text) for text in ("2019-07-14", "2019-99-14T18:30", "yesterday", "")] == [""] * 4


@pytest.mark.parametrize(
    "place",
    [
        {2: (33.0, 30.0, 36.0), 4: (151.0, 12.0, 0.0)},
        {1: "S", 2: (99.0, 0.0, 0.0), 3: "E", 4: (151.0, 0.0, 0.0)},
        {1: "S", 2: (33.0,), 3: "E", 4: (151.0, 0.0, 0.0)},
    ],
)
def test_a_place_that_makes_no_sense_is_ignored(tmp_path: Path, place: dict[int, Any]) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(scene(1), "JPEG", exif=exif_block({}, place)))
    assert math.isnan(probe(path, Limits()).taken.latitude)


def test_clips() -> None:
    apple = "com.apple.quicktime."
    taken = taken_of_clip(
        {
            "creation_time": "2019-07-14T16:30:05.000000Z",
            f"{apple}creationdate": "2019-07-14T18:30:05+0200",
            f"{apple}location.ISO6709": "+48.8577+002.2950+050.000/",
            f"{apple}make": "Apple",
            f"{apple}model": "iPhone",
        }
    )
    assert taken.taken_at == "2019-07-14T18:30:05+02:00"
    assert (taken.latitude, taken.longitude) == (48.8577, 2.295)
    assert taken.camera == "Apple iPhone"
    assert taken_of_clip({"creation_time": "2019-07-14T16:30:05.000000Z"}).taken_at == "2019-07-14T16:30:05+00:00"
    assert taken_of_clip({"creation_time": "1904-01-01T00:00:00.000000Z"}).taken_at == ""


def test_the_clock_of_a_clip_is_read_from_the_file(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", [scene(i, 48, 64) for i in range(3)])
    assert probe(path, Limits()).taken.taken_at == ""
