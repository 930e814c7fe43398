"""From an original to its working copies, with their rows in the tables `frames` and `sounds`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import pandas as pd
from pydantic import Field

from mediarank.media.clip import Bursts, Sampling, decode_clip
from mediarank.media.files import File, Held, Slice
from mediarank.media.image import DecodedImage, Pixels, read_image
from mediarank.media.limits import Limits
from mediarank.media.sound import decode_sound
from mediarank.media.working import encode_picture, encode_sound, fit_inside, phash
from mediarank.types import KINDS, Floats, MediaError


@dataclass(frozen=True)
class FramesConfig:
    """Settings of working copies.

    max_side : of pictures, in pixels
    frames_per_clip : sampled uniformly; the most that are kept when sampling shots
    sampling : `uniform` in time, or a key frame for each of the longest `shots`
    bursts : how many of these frames begin a burst of consecutive frames, for families that look at motion
    burst_frames, burst_side : frames of a burst, and the side they are shrunk to fit, in pixels
    sample_rate : of sounds, in Hz
    max_failed_share : of the items that the manifest lists as usable; if more can't be decoded, the run stops
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    max_side: Annotated[int, Field(ge=16)] = 320
    frames_per_clip: Annotated[int, Field(ge=1, le=1000)] = 8
    sampling: Sampling = "uniform"
    bursts: Annotated[int, Field(ge=0, le=100)] = 3
    burst_frames: Annotated[int, Field(ge=2, le=64)] = 6
    burst_side: Annotated[int, Field(ge=16, le=640)] = 96
    sample_rate: Annotated[int, Field(ge=4000, le=192000)] = 16000
    max_failed_share: Annotated[float, Field(ge=0, le=1)] = 0.2


class FrameRow(NamedTuple):
    """A working picture; `path` is below the folder of working copies. An image has one, whose id is the item's.

    burst, burst_frames, burst_sha256 : the burst that begins at this frame: its frames in one picture, one below the
        other; an empty path and 0 where there is none
    """

    frame_id: str
    item_id: str
    kind: str
    index: int  # type: ignore[assignment]  # in the place of tuple.index
    seconds: float
    path: str
    width: int
    height: int
    sha256: str
    phash: str
    burst: str = ""
    burst_frames: int = 0
    burst_sha256: str = ""


class SoundRow(NamedTuple):
    """A working sound. `path` is below the folder of working copies."""

    item_id: str
    path: str
    seconds: float
    sha256: str


class WorkingCopies(NamedTuple):
    """The working copies of one item.

    note : what a damaged clip lost; empty for an intact one
    contents : path -> the file itself
    lengths : path -> the length of the file, known without it
    """

    frames: tuple[FrameRow, ...]
    sound: SoundRow | None
    note: str
    contents: Mapping[str, bytes]
    lengths: Mapping[str, int]

    @classmethod
    def of(
        cls,
        contents: Mapping[str, bytes],
        frames: Iterable[FrameRow] = (),
        sound: SoundRow | None = None,
        note: str = "",
    ) -> Self:
        return cls(tuple(frames), sound, note, contents, {path: len(content) for path, content in contents.items()})

    @property
    def files(self) -> dict[str, File]:
        """path -> the file, as `read_picture` and `read_sound` take it"""
        return {path: Held(path, content) for path, content in self.contents.items()}

    @property
    def digests(self) -> dict[str, str]:
        """path -> the fingerprint of the file"""
        found = {row.path: row.sha256 for row in self.frames}
        found |= {row.burst: row.burst_sha256 for row in self.frames if row.burst}
        return found | ({self.sound.path: self.sound.sha256} if self.sound else {})


def frame_id(item_id: str, index: int) -> str:
    """The id of a clip's frame."""
    return f"{item_id}#{index:03d}"


def tables(frames: Iterable[FrameRow], sounds: Iterable[SoundRow]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of all frames and of all sounds, one row each."""
    return pd.DataFrame(frames, columns=FrameRow._fields), pd.DataFrame(sounds, columns=SoundRow._fields)


def make_working_copies(item_id: str, source: File, kind: str, config: FramesConfig, limits: Limits) -> WorkingCopies:
    """Decode an original once and make its working copies.

    An image becomes `<item_id>.jpg`, a clip the folder `<item_id>.frames` with `000.jpg`, …, `000.burst.jpg`, … and
    `sound.wav`, a sound `<item_id>.wav`: the whole id is kept, so that items that differ only in their extension stay
    apart.
    """
    _check_item_id(item_id)
    if kind not in _MAKERS:
        raise MediaError(f"An item is one of {', '.join(KINDS)}, not {kind!r}.")
    if isinstance(source, Slice) and kind != "image":  # an image is read as a whole, and compared then
        source.check()
    return _MAKERS[kind](item_id, source, config, limits)


def _image_copies(item_id: str, source: File, config: FramesConfig, limits: Limits) -> WorkingCopies:
    decoded = read_image(source, limits)
    picture = fit_inside(decoded.pixels, config.max_side)
    data = decoded.data if _may_pass_through(decoded, config.max_side) else encode_picture(picture)
    path = f"{item_id}.jpg"
    digest = _sha256(data)
    height, width = picture.shape[:2]
    row = FrameRow(item_id, item_id, "image", 0, 0.0, path, width, height, digest, phash(picture))
    return WorkingCopies.of({path: data}, [row])


def _clip_copies(item_id: str, source: File, config: FramesConfig, limits: Limits) -> WorkingCopies:
    bursts = Bursts(config.bursts, config.burst_frames, config.burst_side)
    clip = decode_clip(
        source, limits, config.frames_per_clip, config.sampling, config.max_side, config.sample_rate, bursts
    )
    rows = []
    contents = {}
    for index, (seconds, picture) in enumerate(clip.pictures):
        path = f"{item_id}.frames/{index:03d}.jpg"
        contents[path] = encode_picture(picture)
        digest = _sha256(contents[path])
        height, width = picture.shape[:2]
        name = frame_id(item_id, index)
        row = FrameRow(name, item_id, "clip", index, seconds, path, width, height, digest, phash(picture))
        if index in clip.bursts:
            row, data = _with_burst(row, clip.bursts[index])
            contents[row.burst] = data
        rows.append(row)
    sound = None
    if clip.sound is not None:
        sound, data = _sound(item_id, f"{item_id}.frames/sound.wav", clip.sound, config.sample_rate)
        contents[sound.path] = data
    return WorkingCopies.of(contents, rows, sound, clip.note)


def _with_burst(row: FrameRow, burst: Pixels) -> tuple[FrameRow, bytes]:
    path = str(PurePosixPath(row.path).with_suffix(".burst.jpg"))
    data = encode_picture(burst.reshape(-1, *burst.shape[2:]))
    return row._replace(burst=path, burst_frames=len(burst), burst_sha256=_sha256(data)), data


def _sound_copies(item_id: str, source: File, config: FramesConfig, limits: Limits) -> WorkingCopies:
    samples = decode_sound(source, limits, config.sample_rate)
    sound, data = _sound(item_id, f"{item_id}.wav", samples, config.sample_rate)
    return WorkingCopies.of({sound.path: data}, sound=sound)


_MAKERS = {"image": _image_copies, "clip": _clip_copies, "sound": _sound_copies}


def _may_pass_through(decoded: DecodedImage, max_side: int) -> bool:
    """A small upright JPEG is its own working copy: encoding it again would lose quality and take time."""
    header = decoded.header
    plain = header.format == "JPEG" and header.mode in ("L", "RGB") and header.orientation == 1
    return plain and max(header.width, header.height) <= max_side


def _sound(item_id: str, path: str, samples: Floats, sample_rate: int) -> tuple[SoundRow, bytes]:
    data = encode_sound(samples, sample_rate)
    return SoundRow(item_id, path, len(samples) / sample_rate, _sha256(data)), data


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_item_id(item_id: str) -> None:
    """Item ids come from data: an id that leaves the folder must not be written to."""
    parts = PurePosixPath(item_id).parts
    if not parts or item_id.startswith("/") or ".." in parts or "\x00" in item_id or "\\" in item_id:
        raise MediaError(
            f"The item id {item_id!r} is no path below a folder; rename the file without '..', '\\' or a leading '/'."
        )
