"""Headers of originals that come from the cache: the same as parsed ones, and never of a damaged file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
import pytest
from making_media import encoded, scene
from PIL import ExifTags
from test_media_exif import exif_block

from mediarank.labels import Labels
from mediarank.media import header_cache
from mediarank.media.files import Held, Slice
from mediarank.media.limits import Limits
from mediarank.media.shards import Media, ShardWriter
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.types import MachineFault


@pytest.fixture
def media(tmp_path: Path) -> Path:
    exif = exif_block({ExifTags.Base.DateTimeOriginal: "2019:07:14 18:30:05"}, Make="Acme", Orientation=6)
    files = {
        "a.jpg": encoded(scene(1), "JPEG", exif=exif),
        "b.png": encoded(scene(2), "PNG"),
        "c.jpg": b"no picture",
        "d.jpg": encoded(scene(3), "JPEG"),
    }
    with ShardWriter(tmp_path / "media") as shards:
        for name, content in files.items():
            shards.add(name, Held(name, content), len(content), hashlib.sha256(content).hexdigest())
    return tmp_path / "media"


def table(media: Path, cache: Path | None, limits: Limits | None = None) -> pd.DataFrame:
    return build_manifest(media, Labels({}), ManifestConfig(limits or Limits()), cache)[0].table


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The items that are parsed from now on."""
    seen: list[str] = []
    guarded_iter = header_cache.guarded_iter

    def watched(function, items, *rest, **more):  # type: ignore[no-untyped-def]
        seen.extend(item for item, _ in items)
        return guarded_iter(function, items, *rest, **more)

    monkeypatch.setattr(header_cache, "guarded_iter", watched)
    return seen


def test_known_headers_are_not_parsed_again(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    without, first = table(media, None), table(media, cache)
    seen = parsed(monkeypatch)
    again = table(media, cache)
    assert seen == ["c.jpg"], "what can't be used is looked at every time"
    for other in (first, again):
        pd.testing.assert_frame_equal(other, without)
    assert again.set_index("item_id").loc["a.jpg", "camera"] == "Acme"


def test_other_limits_are_another_question(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    table(media, cache)
    seen = parsed(monkeypatch)
    found = table(media, cache, Limits(max_pixels=10)).set_index("item_id")
    assert len(seen) == 4
    assert set(found["status"]) == {"quarantined"}


def test_a_known_file_that_is_damaged_is_noticed(media: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    table(media, cache)
    part = Media(media)["d.jpg"]
    assert isinstance(part, Slice)
    with part.shard.open("r+b") as shard:
        shard.seek(part.offset + part.length // 2)
        shard.write(b"damage")
    with pytest.raises(MachineFault, match=r"damaged where it holds d\.jpg"):
        table(media, cache)
