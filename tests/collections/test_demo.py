"""The demo collection as a whole: bytes, labels, damage."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from mediarank import store
from mediarank.collections import demo
from mediarank.collections.demo import ATTRIBUTES, CLASSES, CONCEPTS, DAMAGED, EVENTS, MISSING, DemoConfig
from mediarank.collections.demo.plan import FPS, plan_clips, plan_images
from mediarank.labels import Labels

SMALL = DemoConfig(images=40, clips=10, copies=2)
TINY = DemoConfig(images=8, clips=8, copies=1)
MAXIMUM_BYTES = 60_000_000


def make(config: DemoConfig, folder: Path, jobs: int) -> Labels:
    before = os.environ.get("MEDIARANK_JOBS")
    os.environ["MEDIARANK_JOBS"] = str(jobs)
    try:
        labels = demo.generate(config, folder / "media")
    finally:
        if before is None:
            del os.environ["MEDIARANK_JOBS"]
        else:
            os.environ["MEDIARANK_JOBS"] = before
    store.write_labels(folder / "labels", labels)
    return labels


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Labels]:
    folder = tmp_path_factory.mktemp("demo")
    return folder, make(SMALL, folder, jobs=1)


@pytest.fixture(scope="module")
def media(made: tuple[Path, Labels]) -> Path:
    return made[0] / "media"


@pytest.fixture(scope="module")
def labels(made: tuple[Path, Labels]) -> Labels:
    return made[1]


def present(media: Path) -> set[str]:
    return {path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file()}


def decoded(path: Path) -> np.ndarray | None:
    data = np.fromfile(path, np.uint8)
    return cv2.imdecode(data, cv2.IMREAD_UNCHANGED) if len(data) else None


def frames(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_same_bytes_with_one_process_and_with_two(tmp_path: Path) -> None:
    for jobs in (1, 2):
        make(TINY, tmp_path / str(jobs), jobs)
    assert digests(tmp_path / "1") == digests(tmp_path / "2")


def test_another_seed_makes_another_collection_and_without_damage_nothing_is_wrong(media: Path, tmp_path: Path) -> None:
    labels = demo.generate(replace(TINY, seed=8, damaged=False), tmp_path)
    name = "images/forest_000.jpg"
    assert (tmp_path / name).read_bytes() != (media / name).read_bytes()
    files = present(tmp_path)
    assert len(files) == TINY.images + TINY.clips + TINY.copies
    for name, column in (("classes", "item"), ("keywords", "item"), ("concepts", "item"), ("events", "clip")):
        assert set(labels[name][column]) <= files, name


def test_labels_speak_of_files_that_exist_except_the_deliberate_ones(media: Path, labels: Labels) -> None:
    said = set(labels["classes"]["item"]) | set(labels["keywords"]["item"]) | set(labels["concepts"]["item"])
    said |= set(labels["events"]["clip"])
    assert said - present(media) == set(MISSING)
    assert present(media) - said == set()


def test_every_image_is_judged_for_every_concept_and_every_clip_for_every_event(labels: Labels) -> None:
    wrong = {*DAMAGED, *MISSING}
    concepts = labels["concepts"][~labels["concepts"]["item"].isin(wrong)]
    events = labels["events"][~labels["events"]["clip"].isin(wrong)]
    assert (concepts.groupby("item").size() == len(CONCEPTS)).all()
    assert (events.groupby("clip").size() == len(EVENTS)).all()
    assert concepts["item"].nunique() == SMALL.images + SMALL.copies
    assert events["clip"].nunique() == SMALL.clips
    assert set(concepts["relevant"]) == set(events["relevant"]) == {0, 1}
    assert events.groupby("clip")["relevant"].sum().max() == 1
    assert not concepts.duplicated(["item", "concept"]).any()


def test_every_class_has_images_and_every_attribute_ranks_every_class(labels: Labels) -> None:
    assert set(labels["classes"]["class"]) == set(CLASSES)
    assert not labels["classes"]["item"].duplicated().any()
    orderings = labels["orderings"]
    assert set(orderings["attribute"]) == set(ATTRIBUTES)
    assert len(ATTRIBUTES) >= 6
    for _, ranked in orderings.groupby("attribute"):
        assert set(ranked["target"]) == set(CLASSES)
        assert ranked["strength"].nunique() >= 4


def test_keywords_are_two_to_eight_an_image_with_a_long_tail(labels: Labels) -> None:
    keywords = labels["keywords"][~labels["keywords"]["item"].isin({*DAMAGED, *MISSING})]
    assert not keywords.duplicated().any()
    each = keywords.groupby("item").size()
    assert each.min() >= 2
    assert each.max() <= 8
    share = keywords.groupby("keyword").size() / keywords["item"].nunique()
    assert len(share) >= 40
    assert share.max() > 0.3
    assert (share < 0.06).mean() > 0.4  # in fewer than one picture of sixteen


def test_a_picture_with_a_concept_says_so_in_its_keywords(labels: Labels) -> None:
    concepts = labels["concepts"]
    shown = concepts[concepts["relevant"] == 1].rename(columns={"concept": "keyword"})[["item", "keyword"]]
    words = set(labels["keywords"].itertuples(index=False, name=None))
    assert len(shown) > 20
    assert set(shown.itertuples(index=False, name=None)) <= words


def test_labels_survive_the_store(made: tuple[Path, Labels]) -> None:
    folder, labels = made
    again = store.read_labels(folder / "labels")
    assert again["concepts"]["relevant"].sum() == labels["concepts"]["relevant"].sum()
    assert again["orderings"]["strength"].tolist() == labels["orderings"]["strength"].tolist()
    assert len(again["splits"]) == 0  # splits are made by a later stage


def test_good_images_decode_at_the_planned_size(media: Path) -> None:
    kinds = set()
    for plan in plan_images(SMALL):
        picture = decoded(media / plan.item_id)
        assert picture is not None, plan.item_id
        assert picture.shape[:2] == plan.shape
        assert max(picture.shape[:2]) > 320  # so that working copies are really smaller
        assert picture.std() > 10  # not a flat field
        assert (picture.ndim == 2) == (plan.tones == "grey")
        kinds.add((plan.item_id.rsplit(".", 1)[1], plan.tones))
    assert len(kinds) >= 3


def test_copies_look_like_their_originals_but_are_other_files(media: Path) -> None:
    copied = [plan for plan in plan_images(SMALL) if plan.copied]
    assert len(copied) == SMALL.copies
    for plan in copied:
        original, copy = decoded(media / plan.item_id), decoded(media / plan.copy_id)
        assert original is not None
        assert copy is not None
        assert copy.shape[:2] != original.shape[:2]
        small = [cv2.resize(p[..., :3], (12, 12), interpolation=cv2.INTER_AREA).ravel() for p in (original, copy)]
        assert np.corrcoef(*small)[0, 1] > 0.95


@pytest.mark.parametrize("item", [item for item in DAMAGED if item.startswith("images/")])
def test_damaged_images_do_not_decode(media: Path, item: str) -> None:
    assert decoded(media / item) is None


@pytest.mark.parametrize("item", [item for item in DAMAGED if item.startswith("clips/")])
def test_damaged_clips_do_not_decode(media: Path, item: str) -> None:
    with pytest.raises(av.error.InvalidDataError):
        frames(media / item)


def test_clips_are_h264_with_aac_except_the_silent_ones(media: Path) -> None:
    plans = plan_clips(SMALL)
    assert 0 < sum(plan.sound is None for plan in plans) < len(plans) / 3
    for plan in plans:
        with av.open(str(media / plan.item_id)) as container:
            assert container.streams.video[0].codec_context.name == "h264"
            sounds = [stream.codec_context.name for stream in container.streams.audio]
            assert sounds == ([] if plan.sound is None else ["aac"])
            assert "creation_time" not in container.metadata
        assert frames(media / plan.item_id) == round(plan.seconds * FPS)


def test_sound_tracks_are_heard_and_as_long_as_their_clips(media: Path) -> None:
    for plan in plan_clips(SMALL):
        if plan.sound is None:
            continue
        with av.open(str(media / plan.item_id)) as container:
            samples = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
            rate = container.streams.audio[0].rate
        assert np.abs(samples).max() > 0.1
        assert len(samples) / rate == pytest.approx(plan.seconds, abs=0.2)


def test_default_collection_is_small_enough(media: Path) -> None:
    default = DemoConfig()
    size = {folder: [p.stat().st_size for p in (media / folder).iterdir()] for folder in ("images", "clips")}
    expected = np.mean(size["images"]) * (default.images + default.copies) + np.mean(size["clips"]) * default.clips
    assert expected < 0.9 * MAXIMUM_BYTES


def test_attributes_can_be_seen(media: Path) -> None:
    """Two attributes that a pixel count can check, at the ends of their ladders."""

    def mean_colour(scene: str) -> np.ndarray:
        pictures = [decoded(media / p.item_id) for p in plan_images(SMALL) if p.scene == scene and p.tones == "colour"]
        return np.mean([p.reshape(-1, 3).mean(axis=0) for p in pictures if p is not None], axis=0)

    colours = {scene: mean_colour(scene) for scene in CLASSES}
    warmth = {scene: blue_green_red[2] - blue_green_red[0] for scene, blue_green_red in colours.items()}
    assert warmth["interior"] > warmth["coast"] + 10
    assert colours["field"].mean() > colours["forest"].mean() + 5
