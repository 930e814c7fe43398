"""From originals to working copies: which files are written, and their rows in the tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from making_media import encoded, scene, tone, write_clip, write_sound
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from mediarank.media.frames import FramesConfig, WorkingCopies, make_working_copies
from mediarank.media.image import decode_image
from mediarank.media.limits import Limits
from mediarank.media.working import phash, read_picture, read_sound
from mediarank.types import MediaError

LIMITS = Limits()


def copies(source: Path, kind: str, target: Path, item_id: str = "a/item.xyz", **config: Any) -> WorkingCopies:
    made = make_working_copies(item_id, source, kind, FramesConfig(**config), LIMITS)
    for path, content in made.contents.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    return made


def image_file(folder: Path, format: str = "JPEG", height: int = 300, width: int = 400, **options: Any) -> Path:
    path = folder / "source"
    path.write_bytes(encoded(scene(1, height, width), format, **options))
    return path


def test_an_image(tmp_path: Path) -> None:
    made = copies(image_file(tmp_path), "image", tmp_path / "out", "a/b.png")
    (row,) = made.frames
    assert (row.frame_id, row.item_id, row.kind, row.index, row.seconds) == ("a/b.png", "a/b.png", "image", 0, 0.0)
    assert (row.width, row.height) == (320, 240)
    written = tmp_path / "out" / row.path
    picture = read_picture(written)
    assert picture.shape == (240, 320, 3)
    assert row.sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
    assert (int(row.phash, 16) ^ int(phash(picture), 16)).bit_count() <= 2
    assert (made.sound, made.note) == (None, "")


def test_a_small_jpeg_passes_through_unchanged(tmp_path: Path) -> None:
    source = image_file(tmp_path, height=240, width=320)
    (row,) = copies(source, "image", tmp_path / "out").frames
    written = tmp_path / "out" / row.path
    assert written.read_bytes() == source.read_bytes()
    assert np.array_equal(read_picture(written), decode_image(source, LIMITS))


@pytest.mark.parametrize("case", ["png", "turned", "cmyk", "large"])
def test_all_others_are_coded_afresh(tmp_path: Path, case: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = Image.fromarray(scene(1, 100, 200 if case != "large" else 321))
    options: dict[str, Any] = {"exif": exif} if case == "turned" else {}
    source = tmp_path / "source"
    source.write_bytes(
        encoded(picture.convert("CMYK") if case == "cmyk" else picture, "PNG" if case == "png" else "JPEG", **options)
    )
    (row,) = copies(source, "image", tmp_path / "out").frames
    written = tmp_path / "out" / row.path
    assert written.read_bytes() != source.read_bytes()
    opened = Image.open(written)
    assert (opened.format, opened.mode, dict(opened.getexif())) == ("JPEG", "RGB", {})
    assert opened.size == (row.width, row.height) == {"turned": (100, 200), "large": (320, 100)}.get(case, (200, 100))


def test_a_clip(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "c.mp4", [scene(i) for i in range(30)], sound=tone(1.2, 48000))
    made = copies(source, "clip", tmp_path / "out", "clips/c.mp4", frames_per_clip=3, max_side=64)
    assert [row.frame_id for row in made.frames] == ["clips/c.mp4#000", "clips/c.mp4#001", "clips/c.mp4#002"]
    assert [row.index for row in made.frames] == [0, 1, 2]
    assert [row.seconds for row in made.frames] == pytest.approx([0.2, 0.6, 1.0])
    for row in made.frames:
        assert (row.item_id, row.kind) == ("clips/c.mp4", "clip")
        written = tmp_path / "out" / row.path
        assert read_picture(written).shape == (row.height, row.width, 3) == (48, 64, 3)
        assert row.sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
    assert made.sound is not None
    sound = tmp_path / "out" / made.sound.path
    assert made.sound.sha256 == hashlib.sha256(sound.read_bytes()).hexdigest()
    assert made.sound.seconds == pytest.approx(len(read_sound(sound)) / 16000)
    assert {path.parent for path in (sound, *(tmp_path / "out" / row.path for row in made.frames))} == {sound.parent}


def test_bursts_of_a_clip_are_pictures_of_frames_one_below_the_other(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "c.mp4", [scene(i) for i in range(30)])
    made = copies(source, "clip", tmp_path / "out", frames_per_clip=4, bursts=2, burst_frames=5, burst_side=32)
    assert [row.burst_frames for row in made.frames] == [5, 0, 0, 5]
    assert [bool(row.burst) for row in made.frames] == [True, False, False, True]
    for row in (made.frames[0], made.frames[3]):
        written = tmp_path / "out" / row.burst
        assert row.burst_sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
        assert read_picture(written).shape == (5 * 24, 32, 3)
    assert not any(row.burst for row in copies(source, "clip", tmp_path / "none", bursts=0).frames)


def test_a_silent_clip_has_no_sound(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "c.mp4", [scene(1)] * 5)
    assert copies(source, "clip", tmp_path / "out").sound is None


def test_shots(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "c.mp4", [scene(1)] * 20 + [scene(2)] * 20)
    assert len(copies(source, "clip", tmp_path / "out", sampling="shots").frames) == 2


def test_a_damaged_clip_has_a_note(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "c.mp4", [scene(i) for i in range(50)], container_options={"movflags": "+faststart"})
    source.write_bytes(source.read_bytes()[: source.stat().st_size // 2])
    made = copies(source, "clip", tmp_path / "out")
    assert made.frames
    assert "only" in made.note


def test_a_sound(tmp_path: Path) -> None:
    source = write_sound(tmp_path / "s.wav", tone(1.0, 44100))
    made = copies(source, "sound", tmp_path / "out", "s.wav", sample_rate=8000)
    assert made.frames == ()
    assert made.sound is not None
    assert made.sound.seconds == pytest.approx(1.0, abs=0.01)
    assert len(read_sound(tmp_path / "out" / made.sound.path)) == pytest.approx(8000, abs=80)


def test_items_that_differ_in_their_extension_only_stay_apart(tmp_path: Path) -> None:
    jpeg, clip = image_file(tmp_path), write_clip(tmp_path / "c.mp4", [scene(1)] * 5, sound=tone(0.2, 48000))
    sound = write_sound(tmp_path / "s.wav", tone(0.2, 44100))
    paths = [
        row.path
        for source, kind, item in (
            (jpeg, "image", "x/a.jpg"),
            (jpeg, "image", "x/a.png"),
            (jpeg, "image", "x/a.jpg.jpg"),
            (clip, "clip", "x/a.mp4"),
            (clip, "clip", "x/a.png.jpg"),
            (sound, "sound", "x/a.wav"),
            (sound, "sound", "x/a.jpg.wav"),
        )
        for made in [copies(source, kind, tmp_path / "out", item)]
        for row in (*made.frames, *([made.sound] if made.sound else []))
    ]
    assert len(set(paths)) == len(paths)
    assert all((tmp_path / "out" / path).is_file() for path in paths)


@pytest.mark.parametrize("item_id", ["", "/etc/passwd", "../a.jpg", "a/../../b.jpg", "a\x00b.jpg", "..\\a.jpg", "/"])
def test_an_item_can_not_leave_its_folder(tmp_path: Path, item_id: str) -> None:
    with pytest.raises(MediaError, match="no path below a folder"):
        copies(image_file(tmp_path), "image", tmp_path / "out", item_id)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]


def test_dots_within_a_name_are_fine(tmp_path: Path) -> None:
    (row,) = copies(image_file(tmp_path), "image", tmp_path / "out", "a/..b../c..jpg").frames
    assert (tmp_path / "out" / row.path).is_file()


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="image, clip, sound, not 'text'"):
        copies(image_file(tmp_path), "text", tmp_path / "out")


def test_a_refused_image_leaves_nothing_behind(tmp_path: Path) -> None:
    source = image_file(tmp_path)
    source.write_bytes(source.read_bytes()[:2000])
    with pytest.raises(MediaError):
        copies(source, "image", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "c.mp4", [scene(i) for i in range(30)], sound=tone(1.2, 48000))
    one, other = (copies(clip, "clip", tmp_path / name) for name in ("one", "other"))
    assert one == other


@pytest.mark.parametrize("kind", [FramesConfig, Limits])
def test_configurations_are_checked(kind: type) -> None:
    checked = TypeAdapter(kind)
    assert checked.validate_python({}) == kind()
    with pytest.raises(ValidationError):
        checked.validate_python({"stranger": 1})
    frames, limits = ("max_side", "frames_per_clip", "sample_rate"), ("max_bytes", "max_pixels", "max_seconds")
    for name in frames if kind is FramesConfig else limits:
        with pytest.raises(ValidationError):
            checked.validate_python({name: 0})
    if kind is FramesConfig:
        with pytest.raises(ValidationError):
            checked.validate_python({"sampling": "sometimes"})
