"""A fitted retrieval model: opened from its files it gives the scores that the fit gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_retrieval import CONFIG, inputs

from mediarank.systems.model import Parts
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.model import Model
from mediarank.types import ConfigError, DataError, FeatureMatrix


def test_scores_are_those_of_the_stage() -> None:
    given = inputs()
    fitted = fit(given, CONFIG)
    model = Model.from_arrays(*fitted.model.to_arrays(), Parts(given.features))
    recorded = fitted.scores[model.served]
    assert model.names == recorded.names
    asked, wanted = recorded.ids.tolist(), recorded.rows(recorded.ids)
    kept = ~np.isnan(wanted)  # all but the queries themselves
    found = model.rank(given.features, asked)
    np.testing.assert_array_equal(found[kept], wanted[kept])
    few = model.rank(given.features, asked, model.names[3:7])
    np.testing.assert_array_equal(few, found[:, 3:7], "asking for some names")


def test_the_method_with_the_best_validation_is_served_unless_one_is_pinned() -> None:
    model = fit(inputs(), CONFIG).model
    assert model.validation[model.served] == max(model.validation.values())
    assert model.needs.features == CONFIG.features
    assert fit(inputs(), replace(CONFIG, serve="uni_con")).model.served == "uni_con"
    with pytest.raises(ConfigError, match="lambdamart"):
        fit(inputs(), replace(CONFIG, serve="lambdamart"))


def test_items_that_no_feature_type_shares_are_refused() -> None:
    given = inputs()
    kept = fit(given, CONFIG).model.to_arrays()
    good, noise = given.features["good"], given.features["noise"]
    apart = {
        "good": FeatureMatrix(good.ids[:4], good.names, good.values[:4]),
        "noise": FeatureMatrix(noise.ids[4:], noise.names, noise.values[4:]),
    }
    with pytest.raises(DataError, match="No item has all of the feature types"):
        Model.from_arrays(*kept, Parts(apart))
