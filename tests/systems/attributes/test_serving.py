"""A served attributes model gives the scores that the system gave."""

from __future__ import annotations

import numpy as np
from made_attributes import CONFIG, collection

from mediarank.systems.attributes import fit as attributes
from mediarank.systems.attributes import serving as attributes_serving


def test_scores_are_those_of_the_stage() -> None:
    given = collection()
    outcome = attributes.run(given, CONFIG)
    served = attributes_serving.serve(outcome.arrays, outcome.facts, {})
    recorded = outcome.scores[served.method]
    assert served.method == attributes_serving.method(outcome.arrays, outcome.facts)
    assert set(served.features) == set(attributes_serving.needs(outcome.facts)) <= set(given.features)
    assert list(served.names) == recorded.ids.tolist(), "the stage writes a row an attribute, serving a column"
    found = served.rank(given.features, recorded.names)
    np.testing.assert_allclose(found, recorded.values.T, rtol=1e-5, atol=1e-5)
    alone = served.rank(given.features, recorded.names[:1])
    np.testing.assert_allclose(alone[0], recorded.values.T[0], rtol=1e-5, atol=1e-5)
