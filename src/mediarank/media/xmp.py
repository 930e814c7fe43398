"""Keywords, title, rating, named regions and time from XMP, as Lightroom, digiKam and darktable write it.

XMP comes from anywhere, so it is parsed without entities and document types, up to a limited length. XMP that can't be
parsed raises MediaError; values that make no sense are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape, quoteattr

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from mediarank.media.exif import iso_time
from mediarank.types import MediaError

MAX_BYTES: Final = 16 * 1024**2

_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_XMP: Final = "{http://ns.adobe.com/xap/1.0/}"
_EXIF: Final = "{http://ns.adobe.com/exif/1.0/}"
_PHOTOSHOP: Final = "{http://ns.adobe.com/photoshop/1.0/}"
_LIGHTROOM: Final = "{http://ns.adobe.com/lightroom/1.0/}"
_DIGIKAM: Final = "{http://www.digikam.org/ns/1.0/}"
_REGIONS: Final = "{http://www.metadataworkinggroup.com/schemas/regions/}"
_AREA: Final = "{http://ns.adobe.com/xmp/sType/Area#}"
_OWN: Final = "{urn:mediarank:1.0:}"
_OWN_TAGS: Final = ("darktable", "_Digikam_Internal_Tags_")
"""Branches of the tag tree that programs use internally."""


@dataclass(frozen=True)
class Region:
    """A named box in fractions of the picture."""

    name: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Description:
    """What people wrote about a file, inside it or beside it.

    rating : stars from 1 to 5, -1 for rejected, 0 if not given
    """

    keywords: tuple[str, ...] = ()
    title: str = ""
    rating: float = 0.0
    regions: tuple[Region, ...] = ()
    taken_at: str = ""

    def __bool__(self) -> bool:
        return bool(self.keywords or self.title or self.rating or self.regions)

    def or_else(self, other: Description) -> Description:
        """This description, completed by `other`: all keywords and regions of both."""
        return Description(
            tuple(dict.fromkeys((*self.keywords, *other.keywords))),
            self.title or other.title,
            self.rating or other.rating,
            tuple(dict.fromkeys((*self.regions, *other.regions))),
            self.taken_at or other.taken_at,
        )


def read_xmp(data: bytes) -> Description:
    """The description in an XMP packet."""
    if len(data) > MAX_BYTES:
        raise MediaError(f"Its XMP has {len(data):,} bytes, more than the {MAX_BYTES:,} that are read.")
    try:
        root = fromstring(data.strip(b"\x00 \r\n\t\xef\xbb\xbf"), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, RecursionError, LookupError) as error:
        raise MediaError(f"Its XMP can't be parsed ({type(error).__name__}).") from None
    regions = tuple(_regions(root))
    words = [*_listed(root, f"{_DC}subject"), *_leaves(root)]
    return Description(
        tuple(dict.fromkeys([*words, *(region.name for region in regions)])),
        next(iter(_listed(root, f"{_DC}title")), ""),
        _rating(_value(root, f"{_XMP}Rating")),
        regions,
        iso_time(_value(root, f"{_EXIF}DateTimeOriginal")) or iso_time(_value(root, f"{_PHOTOSHOP}DateCreated")),
    )


def _value(root: Element, name: str) -> str:
    """A simple property, written as an attribute or as an element."""
    for node in root.iter(f"{_RDF}Description"):
        if name in node.attrib:
            return node.attrib[name].strip()
        found = node.find(name)
        if found is not None and found.text:
            return found.text.strip()
    return ""


def _listed(root: Element, name: str) -> list[str]:
    """The entries of a list property."""
    entries = (entry for node in root.iter(name) for entry in node.iter(f"{_RDF}li"))
    return [text for entry in entries if (text := _clean(entry.text))]


def _leaves(root: Element) -> list[str]:
    """The last parts of hierarchical keywords, such as Heron in Animals|Birds|Heron."""
    found = []
    for name, separator in ((f"{_LIGHTROOM}hierarchicalSubject", "|"), (f"{_DIGIKAM}TagsList", "/")):
        for text in _listed(root, name):
            branch, *_, leaf = (part.strip() for part in (*text.split(separator), text.split(separator)[-1]))
            if branch not in _OWN_TAGS and leaf:
                found.append(leaf)
    return found


def _rating(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and -1 <= value <= 5 else 0.0


def _regions(root: Element) -> Iterator[Region]:
    """Named regions as the Metadata Working Group defines them: the area is given by its centre."""
    for entry in root.iter():
        area = entry.find(f"{_REGIONS}Area")
        name = _clean(entry.attrib.get(f"{_REGIONS}Name") or entry.findtext(f"{_REGIONS}Name"))
        if area is None or not name:
            continue
        values = [_number(area.attrib.get(f"{_AREA}{key}") or area.findtext(f"{_AREA}{key}")) for key in "xywh"]
        x, y, width, height = values
        if all(map(math.isfinite, values)) and 0 < width <= 1 and 0 < height <= 1 and 0 <= x <= 1 and 0 <= y <= 1:
            left, top = max(0.0, x - width / 2), max(0.0, y - height / 2)
            yield Region(name, round(left, 6), round(top, 6), round(width, 6), round(height, 6))


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan


def _clean(text: str | None) -> str:
    """One line of printable text, no longer than a label may be."""
    plain = re.sub(r"\s+", " ", text or "")
    return "".join(c for c in plain if c.isprintable()).strip()[:500]


def write_xmp(description: Description, suggested: Sequence[tuple[str, float | None]] = ()) -> bytes:
    """An XMP packet that `read_xmp` and photo programs read back.

    suggested : keywords that nobody has said, with probabilities. They go into a property of our own, as `word 0.83`,
        so that no program takes them for keywords
    """
    used = {"x": "adobe:ns:meta/", "rdf": _RDF, "dc": _DC, "xmp": _XMP, "mwg-rs": _REGIONS, "stArea": _AREA}
    used |= {"mediarank": _OWN} if suggested else {}
    spaces = " ".join(f'xmlns:{prefix}="{space.strip("{}")}"' for prefix, space in used.items() if prefix != "x")
    rating = f' xmp:Rating="{description.rating:g}"' if description.rating else ""
    words = _written_list("dc:subject", "Bag", description.keywords)
    title = _written_list("dc:title", "Alt", (description.title,), ' xml:lang="x-default"') if description.title else ""
    guesses = [word if p is None else f"{word} {p:.2f}" for word, p in suggested]
    words += _written_list("mediarank:suggested", "Seq", guesses)
    regions = "".join(map(_written_region, description.regions))
    if regions:
        inside = f"<mwg-rs:RegionList><rdf:Bag>{regions}</rdf:Bag></mwg-rs:RegionList>"
        regions = f'<mwg-rs:Regions rdf:parseType="Resource">{inside}</mwg-rs:Regions>'
    return (
        f'<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        f'<x:xmpmeta xmlns:x="{used["x"]}"><rdf:RDF {spaces}><rdf:Description rdf:about=""{rating}>'
        f"{words}{title}{regions}</rdf:Description></rdf:RDF></x:xmpmeta>\n"
        f'<?xpacket end="w"?>\n'
    ).encode("utf-8", "replace")


def _written_list(name: str, kind: str, values: Iterable[str], attributes: str = "") -> str:
    entries = "".join(f"<rdf:li{attributes}>{escape(_clean(value))}</rdf:li>" for value in values)
    return f"<{name}><rdf:{kind}>{entries}</rdf:{kind}></{name}>" if entries else ""


def _written_region(region: Region) -> str:
    centre = region.left + region.width / 2, region.top + region.height / 2
    places = zip("xywh", (*centre, region.width, region.height), strict=True)
    area = " ".join(f'stArea:{key}="{value:.6g}"' for key, value in places)
    return (
        f"<rdf:li><rdf:Description mwg-rs:Name={quoteattr(_clean(region.name))}>"
        f'<mwg-rs:Area {area} stArea:unit="normalized"/></rdf:Description></rdf:li>'
    )
