from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from made_pictures import make_picture
from small_collection import Collection, described

from mediarank.features import cached_rows as remembered
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.describe import extract_rows
from mediarank.features.fitting import fit
from mediarank.features.flow import Flow
from mediarank.features.hog3d import Hog3d
from mediarank.features.hue import Hue
from mediarank.features.mfcc import Mfcc, MfccStatistics
from mediarank.features.network import Network
from mediarank.media.working import encode_picture, read_picture, read_sound
from mediarank.types import DataError


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many units each fan-out computed."""
    counts: list[int] = []
    inner = remembered.fan_out_iter

    def counting(function: Callable[[Any], Any], items: Sequence[Any], what: str, **rest: Any) -> Iterator[Any]:
        counts.append(len(items))
        return inner(function, items, what, **rest)

    monkeypatch.setattr(remembered, "fan_out_iter", counting)
    return counts


IMAGES = [f"images/{i}.png" for i in range(5)]
CLIPS = ["clips/0.mp4", "clips/1.mp4"]


def frame_vectors(collection: Collection, item: str) -> np.ndarray:
    rows = collection.frames[collection.frames["item_id"] == item].sort_values("index")
    return np.stack([ColourMoments().extract(read_picture(collection.folder / path)) for path in rows["path"]])


def test_one_row_per_item_sorted_by_id(collection: Collection) -> None:
    result = described(ColourMoments(), *collection.tables())
    assert result.ids.tolist() == CLIPS + IMAGES
    assert result.names == ColourMoments().names()
    for item in IMAGES:
        np.testing.assert_array_equal(result.rows([item]), frame_vectors(collection, item))


def test_frames_are_pooled_to_clips(collection: Collection) -> None:
    for pool, reduce in (("mean", np.mean), ("max", np.max)):
        result = described(ColourMoments(pool=pool), *collection.tables())
        for clip in CLIPS:
            np.testing.assert_allclose(
                result.rows([clip])[0], reduce(frame_vectors(collection, clip), axis=0), rtol=1e-6
            )


def test_frames_are_kept_where_a_system_wants_them(collection: Collection) -> None:
    result = described(ColourMoments(pool="none"), *collection.tables())
    assert result.ids.tolist() == [f"{clip}#{t:03d}" for clip in CLIPS for t in range(3)] + IMAGES
    np.testing.assert_array_equal(
        result.rows([f"clips/1.mp4#{t:03d}" for t in range(3)]), frame_vectors(collection, CLIPS[1])
    )


def test_sound_families_see_what_has_sound(collection: Collection) -> None:
    result = described(MfccStatistics(), *collection.tables())
    assert result.ids.tolist() == ["clips/1.mp4", "sounds/0.wav"]
    expected = MfccStatistics().extract(read_sound(collection.folder / "sounds/0.wav.wav"))
    np.testing.assert_array_equal(result.rows(["sounds/0.wav"])[0], expected)


def test_clip_families_see_all_frames_in_order(collection: Collection) -> None:
    family = Hog3d(words=8, cell=4)
    feature = fit(family, *collection.tables())
    result = extract_rows(feature, *collection.tables()[:3])
    assert result.ids.tolist() == CLIPS
    paths = [f"clips/0.mp4#{t:03d}.jpg" for t in range(3)]
    clip = np.stack([read_picture(collection.folder / path) for path in paths])
    np.testing.assert_array_equal(result.rows(["clips/0.mp4"])[0], feature.extractor().extract(clip))


@pytest.mark.parametrize("family", [Hog3d(words=8, cell=4), Flow(side=48)])
def test_clip_families_see_bursts_one_by_one_where_there_are_some(collection: Collection, family: Any) -> None:
    bursts = [np.stack([make_picture(20 + 3 * b + t, 40, 48) for t in range(4)]) for b in range(2)]
    read = []
    for place, burst in enumerate(bursts):
        path, digest = collection.write(f"b{place}.jpg", encode_picture(burst.reshape(-1, 48, 3)))
        row = collection.frames["frame_id"] == f"clips/0.mp4#{place:03d}"
        collection.frames.loc[row, ["burst", "burst_frames", "burst_sha256"]] = [path, 4, digest]
        read.append(read_picture(collection.folder / path).reshape(4, 40, 48, 3))
    feature = fit(family, *collection.tables())
    result = extract_rows(feature, *collection.tables()[:3])
    assert result.ids.tolist() == CLIPS
    alone = [feature.extractor().extract(burst) for burst in read]
    np.testing.assert_allclose(result.rows(["clips/0.mp4"])[0], np.mean(alone, axis=0), atol=1e-6)


@pytest.mark.parametrize(("family", "name"), [(ColourMoments(), "images/1.png.jpg"), (Mfcc(), "sounds/0.wav.wav")])
def test_a_flipped_bit_in_a_working_copy_is_noticed(collection: Collection, family: Any, name: str) -> None:
    content = bytearray((collection.folder / name).read_bytes())
    content[len(content) // 2] ^= 4
    (collection.folder / name).write_bytes(content)
    with pytest.raises(DataError, match=r"is damaged.*verify"):
        described(family, *collection.tables())


def test_frames_of_another_size_are_brought_to_the_first(collection: Collection) -> None:
    picture = cv2.resize(make_picture(3, 40, 48), (60, 50))
    path, digest = collection.write("clips/0.mp4#002.jpg", encode_picture(picture))
    collection.frames.loc[collection.frames["path"] == path, "sha256"] = digest
    assert len(described(Hog3d(words=4, cell=4), *collection.tables())) == 2


def test_a_collection_without_the_modality_has_no_rows(collection: Collection) -> None:
    images = collection.frames[collection.frames["kind"] == "image"]
    empty = collection.sounds.iloc[:0]
    for family in (Mfcc(), Hog3d(), MfccStatistics()):
        result = described(family, images, empty, collection.folder, collection.roles)
        assert result.values.shape == (0, len(family.names()))


@pytest.mark.parametrize(
    "family", [ColourMoments(granularity="thirds"), Hue(words=5), Mfcc(words=4), Hog3d(words=4, cell=4)]
)
def test_the_cache_never_shows(collection: Collection, tmp_path: Path, family: Any, computed: list[int]) -> None:
    cache = FeatureCache(tmp_path / "cache")
    without = described(family, *collection.tables())
    first, second = (described(family, *collection.tables(), cache) for _ in range(2))
    for result in (first, second):
        assert result.values.tobytes() == without.values.tobytes()
        assert result.ids.tolist() == without.ids.tolist()
    assert sum(computed) == 2 * sum(computed[: len(computed) // 2])  # the second run computed nothing


def test_only_what_is_new_is_computed(collection: Collection, tmp_path: Path, computed: list[int]) -> None:
    cache = FeatureCache(tmp_path / "cache")
    fewer = collection.frames[collection.frames["item_id"] != "images/2.png"]
    described(ColourMoments(), fewer, *collection.tables()[1:], cache)
    described(ColourMoments(), *collection.tables(), cache)
    described(ColourMoments(pool="max"), *collection.tables(), cache)  # pooling does not touch what is cached
    described(ColourMoments(space="rgb"), *collection.tables(), cache)
    assert computed == [9, 1, 0, 10]  # of 11 pictures two are the same


def test_damage_in_the_cache_is_computed_again(collection: Collection, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache")
    expected = described(ColourMoments(), *collection.tables(), cache)
    cache.path.write_bytes(b"no database at all" * 1000)
    again = described(ColourMoments(), *collection.tables(), cache)
    assert again.values.tobytes() == expected.values.tobytes()


def test_two_processes_give_the_same_bytes(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    family = Hue(words=6, granularity="2x2", assignment="soft")
    serial = described(family, *collection.tables())
    monkeypatch.setenv("MEDIARANK_JOBS", "2")
    assert described(family, *collection.tables()).values.tobytes() == serial.values.tobytes()


def test_a_lost_working_copy_is_named(collection: Collection) -> None:
    (collection.folder / "images/3.png.jpg").unlink()
    with pytest.raises(DataError, match=r"images/3\.png\.jpg"):
        described(ColourMoments(), *collection.tables())


@pytest.mark.parametrize(
    "family",
    [
        ColourMoments(),
        ColourMoments(pool="none"),
        Hue(words=5),
        Hog3d(words=4, cell=4),
        Mfcc(words=4),
        Network(side=64),
        Network(side=64, pool="none"),
    ],
)
def test_one_item_alone_gets_the_row_of_the_collection(collection: Collection, family: Any) -> None:
    feature = fit(family, *collection.tables())
    whole = extract_rows(feature, *collection.tables()[:3])
    stored = type(feature).from_stored(*feature.to_stored())
    items = {i for table in (collection.frames, collection.sounds) for i in table["item_id"]}
    rows = 0
    for item in items:
        frames, sounds = (t[t["item_id"] == item] for t in (collection.frames, collection.sounds))
        alone = extract_rows(stored, frames, sounds, collection.tables()[2])
        assert alone.values.tobytes() == whole.rows(alone.ids).tobytes()
        rows += len(alone)
    assert rows == len(whole) > 0


def test_a_table_without_its_columns_is_refused(collection: Collection) -> None:
    with pytest.raises(DataError, match="sha256"):
        described(ColourMoments(), collection.frames.drop(columns="sha256"), *collection.tables()[1:])
