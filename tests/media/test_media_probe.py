"""Headers: what a file is by its content, how large it says it is, and why it is refused."""

from __future__ import annotations

import os
from pathlib import Path

import av
import numpy as np
import pytest
from making_media import encoded, scene, tone, write_clip, write_sound

from mediarank.media.container import open_container
from mediarank.media.limits import Limits
from mediarank.media.probe import Probe, kind_of, probe
from mediarank.media.sniff import MEDIA_EXTENSIONS, ending_of, image_format
from mediarank.types import MediaError, UnsupportedMedia

LIMITS = Limits()


def refusal(path: Path, limits: Limits = LIMITS) -> str:
    with pytest.raises(MediaError) as caught:
        probe(path, limits)
    return str(caught.value)


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_an_image(tmp_path: Path) -> None:
    assert probe(written(tmp_path, "a.jpg", encoded(scene(1), "JPEG")), LIMITS) == Probe("image", 128, 96)


def test_an_animation_is_an_image(tmp_path: Path) -> None:
    from PIL import Image

    frames = [Image.fromarray(scene(seed)) for seed in range(3)]
    data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:])
    assert kind_of(written(tmp_path, "a.webp", data)) == "image"


@pytest.mark.parametrize("sound", [True, False])
def test_a_clip(tmp_path: Path, sound: bool) -> None:
    path = write_clip(tmp_path / "a.mp4", [scene(1)] * 50, sound=tone(2, 48000) if sound else None)
    found = probe(path, LIMITS)
    assert (found.kind, found.width, found.height, found.has_sound) == ("clip", 128, 96, sound)
    assert found.seconds == pytest.approx(2.0, abs=0.1)
    assert found.fps == pytest.approx(25)


@pytest.mark.parametrize(("name", "codec"), [("a.wav", "pcm_s16le"), ("a.flac", "flac"), ("a.mp3", "libmp3lame")])
def test_a_sound(tmp_path: Path, name: str, codec: str) -> None:
    found = probe(write_sound(tmp_path / name, tone(1.5, 44100), codec=codec), LIMITS)
    assert (found.kind, found.width, found.fps, found.has_sound) == ("sound", 0, 0, True)
    assert found.seconds == pytest.approx(1.5, abs=0.1)


def test_a_clip_container_with_sound_only_is_a_sound(tmp_path: Path) -> None:
    assert kind_of(write_sound(tmp_path / "a.mp4", tone(1, 44100), codec="aac")) == "sound"


def test_a_song_with_a_cover_is_a_sound(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    with av.open(str(path), "w") as container:
        track = container.add_stream("libmp3lame", rate=44100, layout="mono")
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 128, 96, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        picture = av.VideoFrame.from_ndarray(scene(1), format="rgb24")
        picture.pts = 0
        container.mux(cover.encode(picture))
        container.mux(cover.encode(None))
        frame = av.AudioFrame.from_ndarray(tone(1, 44100)[None], format="fltp", layout="mono")
        frame.sample_rate = 44100
        container.mux(track.encode(frame))
        container.mux(track.encode(None))
    with av.open(str(path)) as container:
        assert len(container.streams.video) == 1  # or the test would show nothing
    assert kind_of(path) == "sound"


def test_content_counts_not_the_name(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [scene(1)] * 5).read_bytes()
    sound = write_sound(tmp_path / "a.wav", tone(1, 44100)).read_bytes()
    assert kind_of(written(tmp_path, "clip.jpg", clip)) == "clip"
    assert kind_of(written(tmp_path, "sound.png", sound)) == "sound"
    assert kind_of(written(tmp_path, "image.mp4", encoded(scene(1), "PNG"))) == "image"
    assert kind_of(written(tmp_path, "no extension", encoded(scene(1), "WEBP"))) == "image"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", r"empty \(0 bytes\)"),
        ("Einkaufszettel: Brot, Käse, Äpfel\n".encode() * 40, r"named \.mp4, but holds plain text"),
        (b"\xef\xbb\xbf <!DOCTYPE html><html>404", "a web page"),
        (b"%PDF-1.7 \x00\x01", "a PDF document"),
        (b"PK\x03\x04 something", "a zip archive"),
        (bytes(5000), "nothing but zeros"),
        (bytes(range(1, 250)) * 4, "data of an unknown kind .*01 02 03"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2", "header can't be read"),
        (b"RIFF\x24\x00\x00\x00WAVE", "damaged|cut off|neither"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "HEIF.* damaged"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "damaged"),
        (b"BM and nothing else", "starts like a BMP|damaged"),
    ],
)
def test_reasons(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(MediaError, match=words):
        probe(written(tmp_path, "file.mp4", data), LIMITS)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "can't be read" in refusal(tmp_path / "missing.jpg")
    assert "not a regular file" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe.mp4")
    assert "not a regular file" in refusal(tmp_path / "pipe.mp4")


def test_limits(tmp_path: Path) -> None:
    image = written(tmp_path, "a.png", encoded(scene(1), "PNG"))
    clip = write_clip(tmp_path / "a.mp4", [scene(1)] * 50)
    sound = write_sound(tmp_path / "a.wav", tone(3, 44100))
    assert "max_bytes" in refusal(image, Limits(max_bytes=10))
    assert "max_pixels" in refusal(image, Limits(max_pixels=128 * 96 - 1))
    assert "max_pixels" in refusal(clip, Limits(max_pixels=128 * 96 - 1))
    assert "max_seconds" in refusal(clip, Limits(max_seconds=1.9))
    assert "max_frames" in refusal(clip, Limits(max_frames=49))
    assert "max_seconds" in refusal(sound, Limits(max_seconds=2.9))


@pytest.mark.parametrize(
    "script",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{other}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '{other}'\n",
        "1\n00:00:00,000 --> 00:00:05,000\nwords\n",
    ],
)
def test_scripts_that_open_other_files_are_refused(tmp_path: Path, script: str) -> None:
    other = write_clip(tmp_path / "secret.ts", [scene(1)] * 10)
    path = written(tmp_path, "list.mp4", script.format(other=other).encode())
    assert "plain text" in refusal(path)


def test_a_name_that_looks_like_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sound = write_sound(tmp_path / "a.wav", tone(1, 44100)).read_bytes()
    for name in ("concat:a.wav|a.wav", "http:a.wav", "%03d.wav"):
        Path(name).write_bytes(sound)
        assert probe(Path(name), LIMITS).seconds == pytest.approx(1)


def test_any_error_inside_becomes_a_reason(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "a.wav", tone(1, 44100))
    with pytest.raises(MediaError, match="unusual kind"), open_container(path, LIMITS):
        raise ZeroDivisionError
    with pytest.raises(MediaError, match="more memory"), open_container(path, LIMITS):
        raise MemoryError


def test_names_of_media() -> None:
    for name in ("a.jpg", "B.JPEG", "c.Mp4", "d.wav", "x.y/e.heic"):
        assert ending_of(name) == Path(name).suffix.lower()
        assert ending_of(name) in MEDIA_EXTENSIONS
    for name in ("labels.csv", "README", ".jpg", "a.txt", "a.jpg.part", "a.", "x.jpg/a"):
        assert ending_of(name) == Path(name).suffix.lower()
        assert ending_of(name) not in MEDIA_EXTENSIONS


def test_image_format_of_each_kind() -> None:
    for name in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "AVIF", "JPEG2000"):
        assert image_format(encoded(scene(1), name)) == name
    assert image_format(np.random.default_rng(0).bytes(100)) is None


def test_a_coding_that_is_not_on_the_list_is_refused(tmp_path: Path) -> None:
    """FFmpeg could decode it; the fewer decoders a file can choose, the fewer faults it can use."""
    pictures = [np.full((32, 32, 3), k, np.uint8) for k in range(3)]
    path = write_clip(tmp_path / "a.avi", pictures, codec="utvideo")
    with av.open(str(path)) as container:
        assert len(list(container.decode(video=0))) == 3
    with pytest.raises(UnsupportedMedia, match="in a coding that can be decoded here"):
        probe(path, Limits())
