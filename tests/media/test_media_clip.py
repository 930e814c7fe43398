"""Clips: which frames are sampled, that decoding less gives the same frames, and what damaged clips give."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from making_media import Pixels, scene, tone, write_clip

from mediarank.media.clip import Bursts, Clip, decode_clip
from mediarank.media.limits import Limits
from mediarank.types import MediaError

LIMITS = Limits()


def level(index: int) -> Pixels:
    """A grey picture that says which frame it is."""
    return np.full((48, 64, 3), 20 + 4 * index, np.uint8)


def numbers(clip: Clip) -> list[int]:
    return [round((float(picture.mean()) - 20) / 4) for _, picture in clip.pictures]


def uniform(path: Path, count: int = 5, **limits: Any) -> Clip:
    return decode_clip(path, Limits(**limits), count, "uniform", max_side=320)


def moving(count: int, seed: int = 3) -> list[Pixels]:
    return [np.roll(scene(seed), 2 * step, axis=1) for step in range(count)]


def test_frames_are_taken_from_the_middle_of_equal_parts(tmp_path: Path) -> None:
    clip = uniform(write_clip(tmp_path / "a.mp4", map(level, range(50))))
    assert numbers(clip) == [5, 15, 25, 35, 45]
    assert [seconds for seconds, _ in clip.pictures] == pytest.approx([0.2, 0.6, 1.0, 1.4, 1.8])
    assert clip.seconds == pytest.approx(2.0)
    assert (clip.sound, clip.note) == (None, "")


def test_variable_frame_rate_is_sampled_in_time_not_in_frames(tmp_path: Path) -> None:
    """Ten frames in the first second, then one that stays for three."""
    stamps = [*range(0, 1000, 100), 1000, 4000]
    path = write_clip(tmp_path / "vfr.mkv", map(level, range(12)), stamps, Fraction(1, 1000))
    clip = uniform(path, count=4)  # 4 s: the middles are at 0.5, 1.5, 2.5 and 3.5 s
    assert numbers(clip) == [5, 10]
    assert [seconds for seconds, _ in clip.pictures] == pytest.approx([0.5, 1.0], abs=0.01)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_clip_of_few_frames_gives_each_once(tmp_path: Path, frames: int) -> None:
    path = write_clip(tmp_path / "short.mp4", map(level, range(frames)))
    assert numbers(uniform(path, count=8)) == list(range(frames))
    assert len(decode_clip(path, LIMITS, 8, "shots", 320).pictures) == 1


CODINGS: dict[str, dict[str, Any]] = {
    "plain.mp4": {"options": {"preset": "medium"}},
    "keys.mp4": {"options": {"preset": "medium", "g": "12"}},
    "open.mp4": {"options": {"preset": "medium", "x264-params": "open-gop=1:keyint=12:bframes=3:b-pyramid=normal"}},
    "open.mkv": {"options": {"preset": "medium", "x264-params": "open-gop=1:keyint=12:bframes=3"}},
    "keys.ts": {"options": {"preset": "medium", "g": "12"}},
    "mpeg2.mpg": {"codec": "mpeg2video", "options": {"g": "12", "bf": "2"}, "sound_codec": "mp2"},
    "mpeg4.avi": {"codec": "mpeg4", "options": {"g": "12"}, "sound_codec": "libmp3lame"},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}, "sound_codec": "libopus"},
}


@pytest.mark.parametrize("name", CODINGS)
def test_decoding_only_what_is_needed_gives_the_same_frames(tmp_path: Path, name: str) -> None:
    path = write_clip(tmp_path / name, moving(72), sound=tone(2.88, 48000), **CODINGS[name])
    clip = uniform(path, count=5)
    with av.open(str(path)) as container:
        every = [(frame.time, frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]
    start = every[0][0]
    assert len(clip.pictures) == 5
    for seconds, picture in clip.pictures:
        _, expected = min(every, key=lambda pair: abs(pair[0] - start - seconds))
        assert np.array_equal(picture, expected)
    assert clip.note == ""
    assert clip.sound is not None
    assert len(clip.sound) / 16000 == pytest.approx(2.88, abs=0.15)


def test_pictures_are_shrunk_to_fit(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", moving(10))
    clip = decode_clip(path, LIMITS, 3, "uniform", max_side=64)
    assert {picture.shape for _, picture in clip.pictures} == {(48, 64, 3)}


def test_the_sound_of_a_clip(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", map(level, range(25)), sound=tone(1.0, 48000, frequency=1000))
    sound = uniform(path).sound
    assert sound is not None
    assert sound.dtype == np.float32
    spectrum = np.abs(np.fft.rfft(sound[2000:14000]))
    assert np.argmax(spectrum) * 16000 / 12000 == pytest.approx(1000, abs=2)
    assert np.abs(sound[2000:14000]).max() == pytest.approx(0.5, abs=0.1)


def test_a_key_frame_a_shot(tmp_path: Path) -> None:
    lengths = ((1, 30), (2, 20), (3, 40))
    shots = [np.roll(scene(seed), step, axis=1) for seed, length in lengths for step in range(length)]
    path = write_clip(tmp_path / "shots.mp4", shots, sound=tone(3.6, 48000))
    clip = decode_clip(path, LIMITS, 8, "shots", 320)
    assert [seconds for seconds, _ in clip.pictures] == pytest.approx([14.5 / 25, 39.5 / 25, 69.5 / 25], abs=4 / 25)
    for seconds, picture in clip.pictures:
        shown = shots[round(seconds * 25)]
        assert np.abs(picture.astype(int) - shown).mean() < 12
    assert clip.sound is not None
    longest = decode_clip(path, LIMITS, 2, "shots", 320)
    assert [s for s, _ in longest.pictures] == [clip.pictures[0][0], clip.pictures[2][0]]


def in_bursts(clip: Clip) -> dict[int, list[int]]:
    """Which frame each picture of a burst shows."""
    return {k: [round((float(p.mean()) - 20) / 4) for p in burst] for k, burst in clip.bursts.items()}


@pytest.mark.parametrize(
    ("rate", "starts_of", "expected"),
    [
        (10, 3, {0: [5, 6, 7, 8], 2: [25, 26, 27, 28], 4: [45, 46, 47, 48]}),
        (30, 2, {0: [5, 7, 9, 11], 4: [43, 45, 47, 49]}),  # every second frame; the last burst begins earlier
        (10, 0, {}),
    ],
)
def test_bursts_of_consecutive_frames(
    tmp_path: Path, rate: int, starts_of: int, expected: dict[int, list[int]]
) -> None:
    path = write_clip(tmp_path / "a.mp4", map(level, range(50)), time_base=Fraction(1, rate))
    clip = decode_clip(path, LIMITS, 5, "uniform", 320, bursts=Bursts(starts_of, 4, 32))
    assert in_bursts(clip) == expected
    assert numbers(clip) == [5, 15, 25, 35, 45]  # bursts do not change the sampled frames
    assert {burst.shape[1:] for burst in clip.bursts.values()} <= {(24, 32, 3)}


def test_bursts_of_shots_and_of_a_clip_that_is_too_short(tmp_path: Path) -> None:
    shots = [level(k) for k in range(3)] + [scene(2)] * 20 + [scene(4)] * 20
    path = write_clip(tmp_path / "a.mp4", shots, time_base=Fraction(1, 10))
    clip = decode_clip(path, LIMITS, 8, "shots", 320, bursts=Bursts(9, 4, 320))
    assert len(clip.bursts) == len(clip.pictures) >= 2
    for place, (_, picture) in enumerate(clip.pictures):
        assert np.array_equal(clip.bursts[place][0], picture)
    few = write_clip(tmp_path / "b.mp4", map(level, range(3)), time_base=Fraction(1, 10))
    assert in_bursts(decode_clip(few, LIMITS, 5, "uniform", 320, bursts=Bursts(1, 4, 64))) == {0: [0, 1, 2]}


@pytest.mark.parametrize(("name", "options"), [("a.mp4", {"movflags": "+faststart"}), ("a.mkv", {}), ("a.ts", {})])
@pytest.mark.parametrize("sampling", ["uniform", "shots"])
def test_a_broken_tail_costs_the_tail_only(tmp_path: Path, name: str, options: dict[str, str], sampling: Any) -> None:
    whole = write_clip(
        tmp_path / name, moving(75), sound=tone(3.0, 48000), options={"g": "12"}, container_options=options
    ).read_bytes()
    path = tmp_path / ("cut" + name)
    path.write_bytes(whole[: int(0.6 * len(whole))])
    clip = decode_clip(path, LIMITS, 6, sampling, 320)
    assert len(clip.pictures) == (6 if sampling == "uniform" else 1)
    again = decode_clip(path, LIMITS, 6, sampling, 320, bursts=Bursts(3, 4, 32))
    assert [len(burst) for burst in again.bursts.values()] == [4] * len(again.bursts)
    assert again.bursts
    assert 0.5 < clip.seconds < 2.6
    assert clip.pictures[-1][0] < clip.seconds
    if name != "a.ts":  # which declares no length
        assert "only" in clip.note
        assert "of 3." in clip.note


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_sound_that_outlasts_the_pictures_is_no_damage(tmp_path: Path, name: str) -> None:
    path = write_clip(tmp_path / name, moving(25), sound=tone(5.0, 48000))
    clip = uniform(path)
    assert clip.note == ""
    assert clip.seconds == pytest.approx(1.0, abs=0.1)


def test_zeros_in_place_of_the_second_half_are_noted(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", moving(75), options={"g": "12"}, container_options={"movflags": "+faststart"})
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(data[:half] + bytes(len(data) - half))
    clip = decode_clip(path, LIMITS, 6, "uniform", 320)
    assert 1 <= len(clip.pictures) < 6
    assert "damaged packets were left out" in clip.note


def test_a_clip_without_any_frame_is_refused(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", moving(30), container_options={"movflags": "+faststart"})
    data = path.read_bytes()
    start = data.index(b"mdat") + 4
    path.write_bytes(data[:start])
    with pytest.raises(MediaError, match="no frame"):
        uniform(path)
    path.write_bytes(data[:start] + bytes(len(data) - start))
    with pytest.raises(MediaError, match="damaged"):
        uniform(path)


def test_a_header_that_is_missing_is_a_reason(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", moving(30))  # the header is at the end
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"moov")])
    with pytest.raises(MediaError, match="header can't be read"):
        uniform(path)


@pytest.mark.parametrize(("degrees", "turns"), [(90, -1), (180, 2), (270, 1)])
def test_a_clip_filmed_sideways_is_turned_upright(tmp_path: Path, degrees: int, turns: int) -> None:
    """Phones store what the sensor saw and a matrix in the track header that says how to turn it."""
    path = write_clip(tmp_path / "a.mp4", [scene(1)] * 5)
    upright = uniform(path, count=1).pictures[0][1]
    cosine, sine = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    matrix = np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 0x4000]], dtype=">i4") << 16
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 4 + 40
    data[place : place + 36] = matrix.astype(">i4").tobytes()
    path.write_bytes(data)
    assert np.array_equal(uniform(path, count=1).pictures[0][1], np.rot90(upright, turns))


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_pixels": 48 * 64 - 1}, "max_pixels"),
        ({"max_seconds": 1.0}, "max_seconds"),
        ({"max_frames": 49}, "max_frames"),
        ({"max_bytes": 100}, "max_bytes"),
    ],
)
def test_limits(tmp_path: Path, limits: dict[str, Any], reason: str) -> None:
    path = write_clip(tmp_path / "a.mp4", map(level, range(50)))
    with pytest.raises(MediaError, match=reason):
        uniform(path, **limits)


def test_a_lengthy_clip_is_refused_even_if_its_header_says_nothing(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.ts", map(level, range(50)))
    with pytest.raises(MediaError, match="max_seconds"):
        uniform(path, max_seconds=1.5)


def test_a_clip_that_grows_on_the_way_meets_the_limit_again(tmp_path: Path) -> None:
    small = write_clip(tmp_path / "small.ts", [scene(1, 48, 64)] * 25).read_bytes()
    large = write_clip(tmp_path / "large.ts", [scene(1, 480, 640)] * 25).read_bytes()
    path = tmp_path / "both.ts"
    path.write_bytes(small + large)
    frames = decode_clip(path, LIMITS, 1000, "uniform", 10_000).pictures
    assert {picture.shape for _, picture in frames} == {(48, 64, 3), (480, 640, 3)}
    limited = decode_clip(path, Limits(max_pixels=10_000), 1000, "uniform", 10_000)
    assert {picture.shape for _, picture in limited.pictures} == {(48, 64, 3)}
    assert "damaged packets" in limited.note


def test_a_sound_is_no_clip(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone(0.5, 44100)[None], format="fltp", layout="mono")
        frame.sample_rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(MediaError, match="no moving pictures"):
        uniform(path)


def test_the_same_clip_gives_the_same_bytes(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", moving(40), sound=tone(1.6, 48000))
    one, other = uniform(path), uniform(path)
    assert one.sound is not None
    assert other.sound is not None
    assert one.sound.tobytes() == other.sound.tobytes()
    assert [p.tobytes() for _, p in one.pictures] == [p.tobytes() for _, p in other.pictures]
