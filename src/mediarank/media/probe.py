"""Find out what a file is, how large, and when and where it was taken, from its header only.

The content decides what it is, not the extension; only RAW files that are TIFF files inside are recognised by name.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mediarank.media.container import audio_stream, declared_seconds, open_container, video_stream
from mediarank.media.exif import NOTHING_TAKEN, Taken, taken_of_clip, taken_of_image
from mediarank.media.files import File
from mediarank.media.image import opened_image, read_image
from mediarank.media.limits import Limits
from mediarank.media.sniff import image_format, is_raw, read_head
from mediarank.types import MediaError, UnsupportedMedia


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
    taken: Taken = NOTHING_TAKEN


def probe(path: File, limits: Limits) -> Probe:
    """Read the header of an image (the first frame of an animated one), a clip or a sound.

    Raises MediaError, with the reason, if the file can't be used.
    """
    limits.check_file(path)
    head = read_head(path)
    if is_raw(path, head):
        return _probe_raw(path, limits)
    if image_format(head):
        with opened_image(path, limits) as (header, image):
            return Probe("image", header.width, header.height, taken=taken_of_image(image))
    with open_container(path, limits) as container:
        video, audio = video_stream(container), audio_stream(container)
        seconds = declared_seconds(container)
        limits.check_seconds(seconds)
        if video is not None:
            limits.check_pixels(video.width, video.height)
            limits.check_frames(video.frames)
            fps = float(video.average_rate or video.guessed_rate or 0)
            taken = taken_of_clip(container.metadata)
            return Probe("clip", video.width, video.height, seconds, fps, audio is not None, taken)
        if audio is not None:
            return Probe("sound", seconds=seconds, has_sound=True)
    raise UnsupportedMedia("It has neither pictures nor sound in a coding that can be decoded here; convert it.")


def _probe_raw(path: File, limits: Limits) -> Probe:
    """The probe of a RAW file: the size of its preview, as shown, and the file's own EXIF if Pillow can read it."""
    decoded = read_image(path, limits)
    taken = NOTHING_TAKEN
    with suppress(MediaError), opened_image(path, limits) as (_, image):
        taken = taken_of_image(image)
    return Probe("image", decoded.header.width, decoded.header.height, taken=taken)


def kind_of(path: File, limits: Limits | None = None) -> str:
    """`image`, `clip` or `sound`, by content."""
    return probe(path, limits or Limits()).kind
