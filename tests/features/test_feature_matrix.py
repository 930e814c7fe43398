from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import pytest
from made_pictures import make_picture

from mediarank.features import cached_rows as remembered
from mediarank.features import matrix as module
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.hog3d import Hog3d
from mediarank.features.hue import Hue
from mediarank.features.matrix import build, fit
from mediarank.features.mfcc import Mfcc, MfccStatistics
from mediarank.media.working import encode_picture, encode_sound, read_picture, read_sound
from mediarank.types import DataError, Roles


class Collection:
    """Five images (the last a copy of the first), two clips of three frames, one of them with sound, and a sound."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        frames, sounds = [], []
        for i in range(5):
            name = f"images/{i}.png"
            frames.append(self.frame(name, name, "image", 0, make_picture(0 if i == 4 else i, 40, 48)))
        for c in range(2):
            name = f"clips/{c}.mp4"
            pictures = [make_picture(10 + 3 * c + t, 40, 48) for t in range(3)]
            frames += [self.frame(f"{name}#{t:03d}", name, "clip", t, p) for t, p in enumerate(pictures)]
        for name, seed in (("clips/1.mp4", 1), ("sounds/0.wav", 2)):
            noise = np.random.default_rng(seed).normal(0, 0.1, 4000).astype(np.float32)
            path, digest = self.write(f"{name}.wav", encode_sound(noise, 16_000))
            sounds.append({"item_id": name, "path": path, "seconds": 0.25, "sha256": digest})
        self.frames = pd.DataFrame(frames).sample(frac=1, random_state=0)  # rows are found by id, not by place
        self.sounds = pd.DataFrame(sounds).iloc[::-1]
        items = sorted({*self.frames["item_id"], *self.sounds["item_id"]})
        self.roles = self.split(dict.fromkeys(items, "base"))

    def write(self, path: str, content: bytes) -> tuple[str, str]:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)
        return path, hashlib.sha256(content).hexdigest()

    def frame(self, frame_id: str, item_id: str, kind: str, index: int, picture: np.ndarray) -> dict[str, Any]:
        path, digest = self.write(f"{frame_id}.jpg", encode_picture(picture))
        return {
            "frame_id": frame_id, "item_id": item_id, "kind": kind, "index": index, "seconds": 0.1 * index,
            "path": path, "width": 48, "height": 40, "sha256": digest, "phash": "0" * 16,
        }  # fmt: skip

    def split(self, roles: dict[str, str]) -> Roles:
        rows = [{"item_id": i, "group_id": i, "role": role, "fold": 0} for i, role in roles.items()]
        return Roles(pd.DataFrame(rows))

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame, Path, Roles]:
        return self.frames, self.sounds, self.folder, self.roles


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    return Collection(tmp_path / "media")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many units each fan-out computed."""
    counts: list[int] = []
    inner = remembered.fan_out_iter

    def counting(function: Callable[[Any], Any], items: Sequence[Any], what: str) -> Iterator[Any]:
        counts.append(len(items))
        return inner(function, items, what)

    monkeypatch.setattr(remembered, "fan_out_iter", counting)
    return counts


IMAGES = [f"images/{i}.png" for i in range(5)]
CLIPS = ["clips/0.mp4", "clips/1.mp4"]


def frame_vectors(collection: Collection, item: str) -> np.ndarray:
    rows = collection.frames[collection.frames["item_id"] == item].sort_values("index")
    return np.stack([ColourMoments().extract(read_picture(collection.folder / path)) for path in rows["path"]])


def test_one_row_an_item_sorted_by_id(collection: Collection) -> None:
    result = build(ColourMoments(), *collection.tables())
    assert result.ids.tolist() == CLIPS + IMAGES
    assert result.names == ColourMoments().names()
    for item in IMAGES:
        np.testing.assert_array_equal(result.rows([item]), frame_vectors(collection, item))


def test_frames_are_pooled_to_clips(collection: Collection) -> None:
    for pool, reduce in (("mean", np.mean), ("max", np.max)):
        result = build(ColourMoments(pool=pool), *collection.tables())
        for clip in CLIPS:
            np.testing.assert_allclose(
                result.rows([clip])[0], reduce(frame_vectors(collection, clip), axis=0), rtol=1e-6
            )


def test_frames_are_kept_where_a_system_wants_them(collection: Collection) -> None:
    result = build(ColourMoments(pool="none"), *collection.tables())
    assert result.ids.tolist() == [f"{clip}#{t:03d}" for clip in CLIPS for t in range(3)] + IMAGES
    np.testing.assert_array_equal(
        result.rows([f"clips/1.mp4#{t:03d}" for t in range(3)]), frame_vectors(collection, CLIPS[1])
    )


def test_sound_families_see_what_has_sound(collection: Collection) -> None:
    result = build(MfccStatistics(), *collection.tables())
    assert result.ids.tolist() == ["clips/1.mp4", "sounds/0.wav"]
    expected = MfccStatistics().extract(read_sound(collection.folder / "sounds/0.wav.wav"))
    np.testing.assert_array_equal(result.rows(["sounds/0.wav"])[0], expected)


def test_clip_families_see_all_frames_in_order(collection: Collection) -> None:
    family = Hog3d(words=8, cell=4)
    codebook = fit(family, *collection.tables())
    result = build(family, *collection.tables(), codebook=codebook)
    assert result.ids.tolist() == CLIPS
    paths = [f"clips/0.mp4#{t:03d}.jpg" for t in range(3)]
    clip = np.stack([read_picture(collection.folder / path) for path in paths])
    bag = module.BagOfWords(family, codebook)
    np.testing.assert_array_equal(result.rows(["clips/0.mp4"])[0], bag.extract(clip))


def test_frames_of_another_size_are_brought_to_the_first(collection: Collection) -> None:
    picture = cv2.resize(make_picture(3, 40, 48), (60, 50))
    collection.write("clips/0.mp4#002.jpg", encode_picture(picture))
    assert len(build(Hog3d(words=4, cell=4), *collection.tables())) == 2


def test_a_collection_without_the_modality_has_no_rows(collection: Collection) -> None:
    images = collection.frames[collection.frames["kind"] == "image"]
    empty = collection.sounds.iloc[:0]
    for family in (Mfcc(), Hog3d(), MfccStatistics()):
        result = build(family, images, empty, collection.folder, collection.roles)
        assert result.values.shape == (0, len(family.names()))


@pytest.mark.parametrize(
    "family", [ColourMoments(granularity="thirds"), Hue(words=5), Mfcc(words=4), Hog3d(words=4, cell=4)]
)
def test_the_cache_never_shows(collection: Collection, tmp_path: Path, family: Any, computed: list[int]) -> None:
    cache = FeatureCache(tmp_path / "cache")
    without = build(family, *collection.tables())
    first, second = (build(family, *collection.tables(), cache) for _ in range(2))
    for result in (first, second):
        assert result.values.tobytes() == without.values.tobytes()
        assert result.ids.tolist() == without.ids.tolist()
    assert sum(computed) == 2 * sum(computed[: len(computed) // 2])  # the second run computed nothing


def test_only_what_is_new_is_computed(collection: Collection, tmp_path: Path, computed: list[int]) -> None:
    cache = FeatureCache(tmp_path / "cache")
    fewer = collection.frames[collection.frames["item_id"] != "images/2.png"]
    build(ColourMoments(), fewer, *collection.tables()[1:], cache)
    build(ColourMoments(), *collection.tables(), cache)
    build(ColourMoments(pool="max"), *collection.tables(), cache)  # pooling does not touch what is cached
    build(ColourMoments(space="rgb"), *collection.tables(), cache)
    assert computed == [9, 1, 0, 10]  # of 11 pictures two are the same


def test_damage_in_the_cache_is_computed_again(collection: Collection, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache")
    expected = build(ColourMoments(), *collection.tables(), cache)
    cache.path.write_bytes(b"no database at all" * 1000)
    again = build(ColourMoments(), *collection.tables(), cache)
    assert again.values.tobytes() == expected.values.tobytes()


def test_two_processes_give_the_same_bytes(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    family = Hue(words=6, granularity="2x2", assignment="soft")
    serial = build(family, *collection.tables())
    monkeypatch.setenv("MEDIARANK_JOBS", "2")
    assert build(family, *collection.tables()).values.tobytes() == serial.values.tobytes()


def test_the_codebook_sees_role_base_alone(collection: Collection) -> None:
    family = Hue(words=6)
    base = {"images/0.png": "base", "images/1.png": "base", "clips/0.mp4": "base"}
    others = dict.fromkeys(["images/2.png", "images/3.png", "images/4.png", "clips/1.mp4", "sounds/0.wav"], "test")
    roles = collection.split({**base, **others})
    fitted = fit(family, collection.frames, collection.sounds, collection.folder, roles)
    kept = collection.frames[collection.frames["item_id"].isin(base)]
    alone = fit(family, kept, collection.sounds.iloc[:0], collection.folder, roles)
    assert fitted.digest() == alone.digest()
    swapped = collection.split({**dict.fromkeys(base, "test"), **dict.fromkeys(others, "base")})
    assert fit(family, collection.frames, collection.sounds, collection.folder, swapped).digest() != fitted.digest()


def test_the_codebooks_sample_is_bounded(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    inner = module.fit_codebook

    def watching(descriptors: np.ndarray, *rest: Any) -> Any:
        seen.append(len(descriptors))
        return inner(descriptors, *rest)

    monkeypatch.setattr(module, "fit_codebook", watching)
    fit(Hue(words=4, items=3, per_item=6), *collection.tables())
    assert 0 < seen[0] <= 3 * 6


def test_without_base_items_there_is_no_codebook(collection: Collection) -> None:
    roles = collection.split(dict.fromkeys(collection.roles.items("base"), "test"))
    with pytest.raises(DataError, match="role base"):
        build(Hue(), collection.frames, collection.sounds, collection.folder, roles)


def test_a_lost_working_copy_is_named(collection: Collection) -> None:
    (collection.folder / "images/3.png.jpg").unlink()
    with pytest.raises(DataError, match=r"images/3\.png\.jpg"):
        build(ColourMoments(), *collection.tables())


def test_a_table_without_its_columns_is_refused(collection: Collection) -> None:
    with pytest.raises(DataError, match="sha256"):
        build(ColourMoments(), collection.frames.drop(columns="sha256"), *collection.tables()[1:])
