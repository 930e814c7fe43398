"""Keywords, titles, ratings and regions as photo programs write them into pictures and sidecars."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from making_media import encoded, scene

from mediarank.media.description import may_describe, read_description
from mediarank.media.limits import Limits
from mediarank.media.xmp import Region, read_xmp
from mediarank.types import MediaError

HEAD = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
    'xmlns:lr="http://ns.adobe.com/lightroom/1.0/" xmlns:digiKam="http://www.digikam.org/ns/1.0/" '
    'xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" '
    'xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#">'
)


def packet(attributes: str, inside: str) -> bytes:
    return f"{HEAD}<rdf:Description {attributes}>{inside}</rdf:Description></rdf:RDF></x:xmpmeta>".encode()


def bag(name: str, *words: str, kind: str = "Bag") -> str:
    entries = "".join(f"<rdf:li>{word}</rdf:li>" for word in words)
    return f"<{name}><rdf:{kind}>{entries}</rdf:{kind}></{name}>"


LIGHTROOM = packet(
    'xmp:Rating="4" exif:DateTimeOriginal="2019-07-14T18:30:05+02:00"',
    bag("dc:subject", "Heron", "lake")
    + bag("lr:hierarchicalSubject", "Animals|Birds|Heron", "lake")
    + bag("dc:title", "At the lake", kind="Alt"),
)
DIGIKAM = packet(
    "",
    "<xmp:Rating>3</xmp:Rating>"
    + bag("digiKam:TagsList", "People/Anna", "Places/Rome", "_Digikam_Internal_Tags_/Need Resync", kind="Seq")
    + '<mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag><rdf:li>'
    '<rdf:Description mwg-rs:Name="Anna" '
    'mwg-rs:Type="Face"><mwg-rs:Area stArea:x="0.5" stArea:y="0.25" stArea:w="0.2" stArea:h="0.1" '
    'stArea:unit="normalized"/></rdf:Description></rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>',
)
DARKTABLE = packet('xmp:Rating="-1"', bag("lr:hierarchicalSubject", "darktable|format|jpg", "Boats", kind="Seq"))


def test_lightroom() -> None:
    found = read_xmp(LIGHTROOM)
    assert found.keywords == ("Heron", "lake")
    assert (found.title, found.rating, found.taken_at) == ("At the lake", 4.0, "2019-07-14T18:30:05+02:00")


def test_digikam_with_a_face() -> None:
    found = read_xmp(DIGIKAM)
    assert found.keywords == ("Anna", "Rome")
    assert found.rating == 3.0
    assert found.regions == (Region("Anna", 0.4, 0.2, 0.2, 0.1),)


def test_darktable() -> None:
    found = read_xmp(DARKTABLE)
    assert found.keywords == ("Boats",)
    assert found.rating == -1.0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        b"<a>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 100_000,
        HEAD.encode("utf-16")[:-9],
    ],
)
def test_what_can_not_be_parsed_or_has_entities_is_refused(data: bytes) -> None:
    with pytest.raises(MediaError, match="XMP"):
        read_xmp(data)


@pytest.mark.parametrize("rating", ["many", "9", "nan", "", "0"])
def test_a_rating_that_makes_no_sense_is_ignored(rating: str) -> None:
    assert read_xmp(packet(f'xmp:Rating="{rating}"', "")).rating == 0.0


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF"])
def test_keywords_inside_pictures(tmp_path: Path, format: str) -> None:
    path = tmp_path / "a.bin"
    if format == "PNG":
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", LIGHTROOM.decode())
        path.write_bytes(encoded(scene(1), format, pnginfo=info))
    elif format == "TIFF":
        path.write_bytes(encoded(scene(1), format, tiffinfo={700: LIGHTROOM}))
    else:
        path.write_bytes(encoded(scene(1), format, xmp=LIGHTROOM))
    assert may_describe(path)
    assert read_description(path, Limits()).keywords == ("Heron", "lake")


def iptc(*entries: tuple[int, int, bytes]) -> bytes:
    """An application segment of JPEG with IPTC records, as Photoshop writes it."""
    records = b"".join(b"\x1c" + bytes([r, d]) + struct.pack(">H", len(v)) + v for r, d, v in entries)
    block = b"8BIM\x04\x04\x00\x00" + struct.pack(">I", len(records)) + records + b"\x00" * (len(records) % 2)
    body = b"Photoshop 3.0\x00" + block
    return b"\xff\xed" + struct.pack(">H", len(body) + 2) + body


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([(2, 25, b"sea"), (2, 25, "Möwe".encode()), (1, 90, b"\x1b%G")], ("sea", "Möwe")),
        ([(2, 25, "Möwe".encode("cp1252"))], ("Möwe",)),
        ([(2, 25, b"sea")], ("sea",)),
    ],
)
def test_iptc_inside_jpeg(tmp_path: Path, entries: list[tuple[int, int, bytes]], words: tuple[str, ...]) -> None:
    jpeg = encoded(scene(1), "JPEG")
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg[:2] + iptc(*entries, (2, 5, b"Title")) + jpeg[2:])
    assert may_describe(path)
    found = read_description(path, Limits())
    assert found.keywords == words
    assert found.title == "Title"


def test_pictures_without_marks_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(scene(1), "JPEG") + b"<x:xmpmeta behind the picture")
    assert not may_describe(path)
    path.write_bytes(b"")
    assert not may_describe(path)
    with pytest.raises(FileNotFoundError):
        may_describe(tmp_path / "gone.jpg")
