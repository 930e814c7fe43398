"""What a camera wrote into a picture or clip: when it was taken, how it was held, with which camera, and where.

Nothing is guessed. The time is the camera's own; it has a UTC offset only if the file gives one. The date on which a
file was last edited does not count. From a damaged block nothing is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from PIL import ExifTags, Image

_OFFSET: Final = re.compile(r"^[+-](0\d|1[0-4]):[0-5]\d$")
_ISO_6709: Final = re.compile(r"^(?P<latitude>[+-]\d{2}(?:\.\d+)?)(?P<longitude>[+-]\d{3}(?:\.\d+)?)")
_YEARS: Final = range(1826, 2100)  # since the first photograph
_NOT_SET: Final = (1904, 1970)  # clips have January 1 of these years if the clock was not set


@dataclass(frozen=True)
class Taken:
    """The columns TAKEN_COLUMNS of the manifest, with the values that mean "not given"."""

    taken_at: str = ""
    orientation: int = 0
    camera: str = ""
    latitude: float = math.nan
    longitude: float = math.nan


NOTHING_TAKEN: Final = Taken()


def taken_of_image(image: Image.Image) -> Taken:
    """What the EXIF block of an opened image says; empty if the block is missing or damaged."""
    if image.format != "TIFF" and not image.info.keys() & {"exif", "Raw profile type exif"}:
        return NOTHING_TAKEN
    try:
        exif = image.getexif()
        details = exif.get_ifd(ExifTags.IFD.Exif)
        place = exif.get_ifd(ExifTags.IFD.GPSInfo)
        # pillow-heif turns pictures upright and keeps their original orientation.
        held = image.info.get("original_orientation") or exif.get(ExifTags.Base.Orientation, 0)
        return Taken(
            exif_time(details),
            held if isinstance(held, int) and 1 <= held <= 8 else 0,
            _camera(exif.get(ExifTags.Base.Make), exif.get(ExifTags.Base.Model)),
            *_position(place),
        )
    except Exception:  # a damaged EXIF block may raise any exception, and does not affect the picture
        return NOTHING_TAKEN


def exif_time(details: Mapping[int, Any]) -> str:
    """The original (or else digitised) time in ISO 8601, with its offset if there is one; empty if there is none.

    >>> exif_time({36867: "2019:07:14 18:30:05", 36881: "+02:00"})
    '2019-07-14T18:30:05+02:00'
    """
    tags = ExifTags.Base
    for time, offset in (
        (tags.DateTimeOriginal, tags.OffsetTimeOriginal),
        (tags.DateTimeDigitized, tags.OffsetTimeDigitized),
    ):
        try:
            moment = datetime.strptime(_text(details.get(time)), "%Y:%m:%d %H:%M:%S")
        except ValueError:
            continue
        if moment.year in _YEARS:
            said = _text(details.get(offset))
            return moment.isoformat() + (said if _OFFSET.match(said) else "")
    return ""


def taken_of_clip(tags: Mapping[str, str]) -> Taken:
    """What the metadata of a clip's container says."""
    said = {str(key).lower(): str(value) for key, value in tags.items()}
    apple = "com.apple.quicktime."
    time = iso_time(said.get(f"{apple}creationdate", "")) or iso_time(said.get("creation_time", ""))
    if time[:10] in {f"{year}-01-01" for year in _NOT_SET}:
        time = ""
    place = _ISO_6709.match(said.get(f"{apple}location.iso6709", said.get("location", "")))
    position = _checked(float(place["latitude"]), float(place["longitude"])) if place else (math.nan, math.nan)
    camera = _camera(said.get(f"{apple}make", said.get("make")), said.get(f"{apple}model", said.get("model")))
    return Taken(time, 0, camera, *position)


def iso_time(text: str) -> str:
    """A date and time in ISO 8601 to the second, with its offset if it has one; empty if the text is not one.

    >>> iso_time("2019-07-14T18:30:05.000000Z")
    '2019-07-14T18:30:05+00:00'
    """
    if not re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d", text):  # a date without a time is not a moment
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return moment.replace(microsecond=0).isoformat() if moment.year in _YEARS else ""


def _camera(make: object, model: object) -> str:
    """Make and model; without the make if the model repeats it."""
    maker, name = _text(make), _text(model)
    return name if name.lower().startswith(maker.lower()) else f"{maker} {name}".strip()


def _position(place: Mapping[int, Any]) -> tuple[float, float]:
    tags = ExifTags.GPS
    latitude = _degrees(place.get(tags.GPSLatitude), place.get(tags.GPSLatitudeRef), "S")
    longitude = _degrees(place.get(tags.GPSLongitude), place.get(tags.GPSLongitudeRef), "W")
    return _checked(latitude, longitude)


def _checked(latitude: float, longitude: float) -> tuple[float, float]:
    known = math.isfinite(latitude) and math.isfinite(longitude)
    if known and abs(latitude) <= 90 and abs(longitude) <= 180:
        return round(latitude, 7), round(longitude, 7)
    return math.nan, math.nan


def _degrees(parts: Any, reference: object, negative: str) -> float:
    """Degrees, minutes and seconds as a number; NaN if they are not three numbers with a reference."""
    try:
        degrees, minutes, seconds = (float(part) for part in parts)
    except (TypeError, ValueError, ZeroDivisionError):
        return math.nan
    said = _text(reference).upper()[:1]
    if said not in ("N", "S", "E", "W"):
        return math.nan
    return (degrees + minutes / 60 + seconds / 3600) * (-1 if said == negative else 1)


def _text(value: object) -> str:
    """The text of a tag, without padding and control characters."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = value if isinstance(value, str) else ""
    return "".join(c for c in text.partition("\x00")[0] if c.isprintable()).strip()
