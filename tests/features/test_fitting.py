from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_collection import Collection, described

from mediarank.features import fitting
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.feature_type import FeatureType
from mediarank.features.fitting import fit
from mediarank.features.hue import Hue
from mediarank.features.mfcc import Mfcc
from mediarank.types import DataError


def digest(feature: FeatureType) -> str:
    assert feature.codebook is not None
    return feature.codebook.digest()


def test_the_codebook_sees_role_base_alone(collection: Collection) -> None:
    family = Hue(words=6)
    base = {"images/0.png": "base", "images/1.png": "base", "clips/0.mp4": "base"}
    others = dict.fromkeys(["images/2.png", "images/3.png", "images/4.png", "clips/1.mp4", "sounds/0.wav"], "test")
    roles = collection.split({**base, **others})
    fitted = fit(family, collection.frames, collection.sounds, collection.tables()[2], roles)
    kept = collection.frames[collection.frames["item_id"].isin(base)]
    alone = fit(family, kept, collection.sounds.iloc[:0], collection.tables()[2], roles)
    assert digest(fitted) == digest(alone)
    swapped = collection.split({**dict.fromkeys(base, "test"), **dict.fromkeys(others, "base")})
    assert digest(fit(family, collection.frames, collection.sounds, collection.tables()[2], swapped)) != digest(fitted)


def test_the_codebooks_sample_is_bounded(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    inner = fitting.fit_codebook

    def watching(descriptors: np.ndarray, *rest: Any) -> Any:
        seen.append(len(descriptors))
        return inner(descriptors, *rest)

    monkeypatch.setattr(fitting, "fit_codebook", watching)
    fit(Hue(words=4, items=3, descriptors=18), *collection.tables())
    assert 0 < seen[0] <= 18


def test_without_base_items_there_is_no_codebook(collection: Collection) -> None:
    roles = collection.split(dict.fromkeys(collection.roles.items("base"), "test"))
    with pytest.raises(DataError, match="role base"):
        described(Hue(), collection.frames, collection.sounds, collection.tables()[2], roles)


def test_a_plain_family_needs_no_fitting(collection: Collection) -> None:
    assert fit(ColourMoments(), *collection.tables()).codebook is None


def test_nothing_to_fit_on_is_no_error_until_something_is_to_be_described(collection: Collection) -> None:
    feature = fit(Mfcc(), collection.frames, collection.sounds.iloc[:0], collection.folder, collection.roles)
    assert feature.codebook is None
    with pytest.raises(DataError, match="no codebook"):
        feature.extractor()
