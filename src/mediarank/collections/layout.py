"""Classes and splits from the folders that files are in.

A folder's name becomes a class only if it looks like a name. Dates (2019/07), numbers, the folders that cameras make
(DCIM, 100CANON, IMG_1234) and words that only say that there are files (images, Camera Roll) do not; a file in such a
folder belongs to the nearest folder above it that has a name. A note says what was decided, and `collection.classes`
in params.yaml overrules it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from mediarank.collections.tables import ROLE_WORDS

_CONTAINERS: Final = frozenset(
    (
        "camera", "camera roll", "camera uploads", "dcim", "pictures", "photos", "photo", "pics", "images", "image",
        "img", "imgs", "media", "videos", "video", "movies", "clips", "clip", "sounds", "sound", "audio", "files",
        "data", "originals", "original", "masters", "library", "albums", "export", "exports", "edited", "raw", "jpg",
        "jpeg", "jpegs", "heic", "png", "misc", "various", "other", "new", "old", "new folder", "untitled folder",
        "downloads", "download", "backup", "uploads", "temp", "tmp", "all", "unsorted", "inbox", "keyframes", "frames",
    )
)  # fmt: skip
_MONTHS: Final = frozenset(
    (
        "jan", "january", "januar", "janvier", "enero", "feb", "february", "februar", "fevrier", "février", "febrero",
        "mar", "march", "maerz", "märz", "mars", "marzo", "apr", "april", "avril", "abril", "may", "mai", "mayo", "jun",
        "june", "juni", "juin", "junio", "jul", "july", "juli", "juillet", "julio", "aug", "august", "aout", "août",
        "agosto", "sep", "sept", "september", "septembre", "septiembre", "oct", "october", "oktober", "octobre",
        "octubre", "okt", "nov", "november", "novembre", "noviembre", "dec", "december", "dezember", "decembre",
        "décembre", "diciembre", "dez",
    )
)  # fmt: skip
_CAMERA_FOLDER: Final = re.compile(r"^[1-9]\d\d[0-9a-z_]{5}$", re.IGNORECASE)  # such as 100CANON
_CAMERA_FILE: Final = re.compile(
    r"^(img|dsc|dscn|dscf|dsci|pict|mvi|mov|vid|pano|gopr|gp|gx|dji|pxl|sam|cimg|imgp|hpim|photo|image|pic|scan|burst|"
    r"p|frame|clip|video|wp|screenshot)\d*$",
    re.IGNORECASE,
)
_DATE_TEXT: Final = re.compile(r"^(\d{1,4}(st|nd|rd|th)?|\d{1,2}[hms]|t\d+|\d+t\d+z?|q[1-4])$", re.IGNORECASE)
_IDENTIFIER: Final = re.compile(r"^(?=.*\d)[0-9a-f]{8,}$", re.IGNORECASE)
OVERRULE: Final = "collection.classes in params.yaml (folders, none or {depth: 1}) overrules this"


@dataclass(frozen=True)
class Depth:
    """depth : which folder on the path of a file is its class; 1 is the top one"""

    depth: Annotated[int, Field(ge=1)]
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


ClassRule = Literal["auto", "folders", "none"] | Depth
"""`auto`: folders that look like names; `folders`: the folder of a file, whatever its name; `none`."""


@dataclass(frozen=True)
class Layout:
    """What the folders say.

    classes : (item, class)
    splits : (item, role)
    note : what was decided, in words
    """

    classes: tuple[tuple[str, str], ...]
    splits: tuple[tuple[str, str], ...]
    note: str


@lru_cache(maxsize=65536)  # many files share few folders
def looks_like_name(folder: str) -> bool:
    """Whether a folder is named after its content, not after a date, a number or a camera.

    >>> [looks_like_name(name) for name in ("coast", "2019-07-14 Rome", "07", "2019_07_14", "100CANON", "IMG_1234")]
    [True, True, False, False, False, False]
    """
    plain = " ".join(re.split(r"[\s_\-.,()]+", folder.strip().lower())).strip()
    if plain in _CONTAINERS or _CAMERA_FOLDER.match(folder.strip()):
        return False
    words = [word for word in plain.split(" ") if word]
    return any(
        any(c.isalpha() for c in word)
        and word not in _MONTHS
        and not _CAMERA_FILE.match(word)
        and not _DATE_TEXT.match(word)
        and not _IDENTIFIER.match(word)
        for word in words
    )


def read_layout(items: Iterable[str], rule: ClassRule = "auto") -> Layout:
    """Classes of items by their folders, and their roles if all top folders are named train, test and so on."""
    parts_of = {item: tuple(item.split("/")) for item in items}
    tops = {parts[0].lower() for parts in parts_of.values()}
    divided = len(tops) > 1 and tops <= set(ROLE_WORDS)
    splits = tuple((item, ROLE_WORDS[parts[0].lower()]) for item, parts in parts_of.items() if divided)
    folders = {item: parts[1 if divided else 0 : -1] for item, parts in parts_of.items()}
    classes = tuple((item, name) for item, parts in folders.items() if (name := _class_of(parts, rule)))
    counts = Counter(name for _, name in classes)
    if len(counts) < 2 and rule == "auto":
        classes = ()  # a single class distinguishes nothing
    return Layout(classes, splits, _note(folders, classes, counts, rule))


def _class_of(parts: tuple[str, ...], rule: ClassRule) -> str:
    if rule == "none" or not parts:
        return ""
    if rule == "folders":
        return parts[-1]
    if isinstance(rule, Depth):
        return parts[rule.depth - 1] if len(parts) >= rule.depth else ""
    return next((part for part in reversed(parts) if looks_like_name(part)), "")


def _note(
    folders: dict[str, tuple[str, ...]],
    classes: tuple[tuple[str, str], ...],
    counts: Counter[str],
    rule: ClassRule,
) -> str:
    """What was decided, and why; empty if there was nothing to decide."""
    passed = sorted({part for parts in folders.values() for part in parts if not looks_like_name(part)})
    if rule == "none":
        return "classes: none from folders, as collection.classes says"
    if not any(folders.values()):
        return ""
    if not classes:
        if len(counts) == 1:
            why = f"there is only one folder with a name ({next(iter(counts))})"
        else:
            why = f"the folders look like dates, numbers or camera folders ({_some(passed)})"
        return f"classes: none from folders, because {why}; {OVERRULE}"
    named = ", ".join(f"{name} {count}" for name, count in counts.most_common(4))
    more = f" and {len(counts) - 4} more" if len(counts) > 4 else ""
    said = (
        f"classes: {len(counts)} from the names of folders ({named}{more}) for {len(classes)} of {len(folders)} files"
    )
    if rule == "auto" and passed:
        said += f"; folders that are not classes: {_some(passed)}"
    return f"{said}; {OVERRULE}"


def _some(names: list[str], count: int = 4) -> str:
    return ", ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")
