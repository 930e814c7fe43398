"""Labels from sidecars and from inside pictures reach the label tables."""

from __future__ import annotations

from pathlib import Path

from making_media import encoded, scene
from small_sources import put, rows, write
from test_media_xmp import DIGIKAM, LIGHTROOM

from mediarank.collections import folder


def test_sidecars_of_digikam_and_lightroom(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg", "deep/B.CR2", "c.jpg")
    write(
        tmp_path,
        {"a.jpg.xmp": DIGIKAM, "deep/b.xmp": LIGHTROOM, "gone.xmp": LIGHTROOM, "c.jpg.xmp": "<damaged", ".d.xmp": ""},
    )
    listing = folder.read(tmp_path)
    assert set(rows(listing, "keywords")) == {
        ("a.jpg", "Anna"), ("a.jpg", "Rome"), ("deep/B.CR2", "Heron"), ("deep/B.CR2", "lake"),
    }  # fmt: skip
    assert rows(listing, "orderings") == [("rating", "a.jpg", 3.0), ("rating", "deep/B.CR2", 4.0)]
    assert rows(listing, "regions") == [("a.jpg", "Anna", 0.4, 0.2, 0.2, 0.1)]
    assert rows(listing, "titles") == [("deep/B.CR2", "At the lake")]
    notes = "\n".join(listing.notes)
    assert "1 XMP sidecars describe no file of the collection, such as gone.xmp" in notes
    assert "1 XMP sidecars can't be parsed and are skipped, such as c.jpg.xmp" in notes


def test_pictures_and_sidecars_together(tmp_path: Path) -> None:
    write(tmp_path, {"a.jpg": encoded(scene(1), "JPEG", xmp=LIGHTROOM), "a.xmp": DIGIKAM})
    write(tmp_path, {"b.jpg": encoded(scene(2), "JPEG"), "keywords.csv": "item,keyword\na.jpg,lake\nb.jpg,sea\n"})
    listing = folder.read(tmp_path)
    assert set(rows(listing, "keywords")) == {
        ("a.jpg", "lake"), ("b.jpg", "sea"), ("a.jpg", "Anna"), ("a.jpg", "Rome"), ("a.jpg", "Heron"),
    }  # fmt: skip
    assert any("the pictures' own XMP and IPTC: 1 files described" in note for note in listing.notes)


def test_equal_stars_order_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg", "b.jpg")
    write(tmp_path, {"a.xmp": DIGIKAM, "b.xmp": DIGIKAM})
    assert rows(folder.read(tmp_path), "orderings") == []
