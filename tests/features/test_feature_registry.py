from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from mediarank.features.base import ImageExtractor, LocalExtractor
from mediarank.features.check import check_extractor
from mediarank.features.families import EXTRACTORS, JEC
from mediarank.features.granularity import REGIONS

IMAGE_FAMILIES = [name for name, family in EXTRACTORS.items() if family.modality == "image"]


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_family_passes_the_battery(name: str) -> None:
    check_extractor(EXTRACTORS[name]())


@pytest.mark.parametrize("name", IMAGE_FAMILIES)
def test_granularity_works_for_every_image_family(name: str) -> None:
    family = EXTRACTORS[name](granularity="quadrants_centre")
    check_extractor(family)
    assert len(family.names()) == 5 * len(EXTRACTORS[name]().names())


@pytest.mark.parametrize("name", EXTRACTORS)
def test_params_are_validated_and_unknown_ones_refused(name: str) -> None:
    family = EXTRACTORS[name]
    assert is_dataclass(family)
    adapter = TypeAdapter(family)
    assert adapter.validate_python({}) == family()
    with pytest.raises(ValidationError, match="unexpected"):
        adapter.validate_python({"no_such_setting": 1})
    assert not {"size", "nfiles"} & {field.name for field in fields(family)}


def test_a_hundred_feature_types_can_be_listed() -> None:
    types = [
        TypeAdapter(EXTRACTORS[name]).validate_python({"granularity": granularity})
        for name in IMAGE_FAMILIES
        for granularity in REGIONS
    ]
    assert len({family.identity() for family in types}) == len(types) >= 100


def test_jecs_seven_are_there_by_name(picture: np.ndarray) -> None:
    assert len(JEC) == 7
    for name in JEC:
        family = EXTRACTORS[name]()
        assert isinstance(family, ImageExtractor)
        assert family.extract(picture).shape == (len(family.names()),)


def test_bags_of_words_exist_for_the_four_local_families() -> None:
    assert {name for name, family in EXTRACTORS.items() if issubclass(family, LocalExtractor)} == {
        "sift", "hue", "mfcc", "hog3d",
    }  # fmt: skip


def test_every_class_is_registered_once() -> None:
    assert len(set(EXTRACTORS.values())) == len(EXTRACTORS)
