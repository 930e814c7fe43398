"""A served concepts model puts items in the order that the system gave."""

from __future__ import annotations

import numpy as np
from made_concepts import CONCEPTS, CONFIG, SVM, collection

from mediarank.systems.concepts import fit as concepts
from mediarank.systems.concepts import model as concepts_model
from mediarank.systems.concepts import serving as concepts_serving


def test_order_is_that_of_the_stage_and_nobody_elses_business() -> None:
    features, judgments, roles = collection()
    model = concepts.fit(features, judgments, roles, CONFIG, SVM)
    arrays, facts = model.to_arrays()
    served = concepts_serving.serve(arrays, facts, {}, model.pools)
    assert served.method in concepts_serving.PREFERRED
    assert served.names == CONCEPTS
    assert set(served.features) == set(concepts_serving.base_models(facts)) == set(concepts_serving.needs(facts))
    items = roles.items("test")
    recorded = concepts_model.rank(model, features, items)[served.method]
    scores = served.rank(features, recorded.names)
    for concept, row in zip(served.names, recorded.values, strict=True):
        column = scores[:, served.names.index(concept)]
        np.testing.assert_array_equal(np.sign(np.subtract.outer(column, column)), np.sign(np.subtract.outer(row, row)))
    alone = served.rank(features, recorded.names[3:4])
    np.testing.assert_allclose(alone[0], scores[3], atol=1e-5)


def test_our_method_is_served_if_it_is_there() -> None:
    plans = {"mean_fusion": ["boat"], "imbalanced_rankboost": ["boat"], "forward_cascade": ["boat"]}
    assert concepts_serving.method({}, {"plans": plans}) == "forward_cascade"
    del plans["forward_cascade"]
    assert concepts_serving.method({}, {"plans": plans}) == "imbalanced_rankboost"
    assert concepts_serving.method({}, {"plans": {"mean_fusion": ["boat"]}}) == "mean_fusion"
