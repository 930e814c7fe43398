from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from made_clips import inputs

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.systems.events import fit as events
from mediarank.systems.events.fit import EventsConfig
from mediarank.systems.events.model import EventsModel

QUICK = ClipSVMConfig(penalties=(1.0,), folds=3)
CONFIG = EventsConfig(base_models=("gist_frames",), svm=QUICK, repeats=0)


@pytest.mark.parametrize("classifiers", [CONFIG.classifiers, ("sound", "motion")])
def test_a_model_that_was_kept_ranks_as_before(classifiers: tuple[str, ...]) -> None:
    config = replace(CONFIG, classifiers=classifiers)
    parts = events.prepare(inputs(), config)
    model, _ = events.fit(parts, config)
    arrays, facts = model.to_arrays()
    again = EventsModel.from_arrays(arrays, json.loads(json.dumps(facts, sort_keys=True)))
    plain, kept = (m.rank(parts.matrices, parts.test) for m in (model, again))
    assert set(plain) == set(kept)
    for method, matrix in plain.items():
        np.testing.assert_array_equal(matrix.values, kept[method].values)


def test_a_fused_score_is_the_weighted_sum_of_the_classifiers() -> None:
    parts = events.prepare(inputs(), CONFIG)
    model, scores = events.fit(parts, CONFIG)
    ranked = model.rank(parts.matrices, parts.test)
    for e, event in enumerate(model.events):
        weights = model.weights["recycling"][e]
        expected = scores[event].test @ weights[:-1] + weights[-1]
        np.testing.assert_allclose(ranked["recycling"].values[e], expected, rtol=1e-5)
        for column, name in enumerate(parts.matrices):
            np.testing.assert_allclose(ranked[name].values[e], scores[event].test[:, column], rtol=1e-6)
