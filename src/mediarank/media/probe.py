"""What a file is and how large, from its header alone. The content decides, never the extension."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mediarank.media.container import audio_stream, declared_seconds, open_container, video_stream
from mediarank.media.image import image_header
from mediarank.media.limits import Limits
from mediarank.media.sniff import image_format, read_head
from mediarank.types import MediaError


@dataclass(frozen=True)
class Probe:
    """Sizes and lengths are 0 where the header gives none or they make no sense.

    An image's size is as shown, after its EXIF orientation; that of a clip is as stored.
    """

    kind: str
    width: int = 0
    height: int = 0
    seconds: float = 0.0
    fps: float = 0.0
    has_sound: bool = False


def probe(path: Path, limits: Limits) -> Probe:
    """Read the header of an image (the first frame of an animated one), a clip or a sound.

    Raises MediaError for what can't be used, with the reason.
    """
    limits.check_file(path)
    if image_format(read_head(path)):
        header = image_header(path, limits)
        return Probe("image", header.width, header.height)
    with open_container(path, limits) as container:
        video, audio = video_stream(container), audio_stream(container)
        seconds = declared_seconds(container)
        limits.check_seconds(seconds)
        if video is not None:
            limits.check_pixels(video.width, video.height)
            limits.check_frames(video.frames)
            fps = float(video.average_rate or video.guessed_rate or 0)
            return Probe("clip", video.width, video.height, seconds, fps, audio is not None)
        if audio is not None:
            return Probe("sound", seconds=seconds, has_sound=True)
    raise MediaError("It has neither pictures nor sound in a coding that is known here.")


def kind_of(path: Path, limits: Limits | None = None) -> str:
    """`image`, `clip` or `sound`, by content."""
    return probe(path, limits or Limits()).kind
