from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mediarank import store
from mediarank.features.codebook import Codebook
from mediarank.features.feature_type import FeatureType
from mediarank.features.gist import Gist
from mediarank.features.hue import Hue
from mediarank.types import DataError, FeatureMatrix


def hue(seed: int = 0) -> FeatureType:
    local = Hue(words=3, granularity="thirds")
    words = np.random.default_rng(seed).normal(size=(3, len(local.descriptor_names()))).astype(np.float32)
    return FeatureType(local, Codebook(words, np.ones(words.shape[1], np.float32), float(np.float32(0.3))))


def test_a_type_comes_back_from_the_stages_folder(tmp_path: Path) -> None:
    for feature in (hue(), FeatureType(Gist(colour=True))):
        matrix = FeatureMatrix(
            np.array([], str), feature.family.names(), np.zeros((0, len(feature.family.names())), "f4")
        )
        store.write_features(tmp_path / "type", matrix, *feature.to_stored())
        again = FeatureType.from_stored(*store.read_fitted(tmp_path / "type"))
        assert again.family == feature.family
        assert again.extractor().identity() == feature.extractor().identity()
    assert not (tmp_path / "type/fitted.npz").exists(), "a plain family leaves no codebook of its predecessor"


def test_facts_are_plain_json() -> None:
    facts, _ = hue().to_stored()
    assert json.loads(json.dumps(facts)) == facts


def test_a_codebook_of_another_run_is_refused() -> None:
    with pytest.raises(DataError, match="does not belong"):
        FeatureType.from_stored(hue(0).to_stored()[0], hue(1).to_stored()[1])


def test_a_codebook_that_is_gone_is_refused() -> None:
    with pytest.raises(DataError, match="incomplete"):
        FeatureType.from_stored(hue().to_stored()[0], {})


@pytest.mark.parametrize("settings", [None, {"family": "no_such"}, {"family": "hog", "no_such": 1}])
def test_unknown_settings_are_refused(settings: object) -> None:
    with pytest.raises(DataError):
        FeatureType.from_stored({"feature": settings}, {})
