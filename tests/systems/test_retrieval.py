"""Retrieval: the baselines on data whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.measured import EvaluationConfig
from mediarank.systems import retrieval
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval import RetrievalConfig
from mediarank.types import DataError, FeatureMatrix, Labels, Roles

CONFIG = RetrievalConfig(features=("good", "noise"), scaling_pairs=2000)


def inputs(count: int = 80, roles: tuple[str, ...] = ("base", "rank", "valid", "test")) -> Inputs:
    """Two classes that `good` tells apart and `noise` does not."""
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k:03d}" for k in range(count)])
    member = np.arange(count) % 2
    good = (member[:, None] * 2 + rng.normal(size=(count, 4)) * 0.7).astype(np.float32)
    noise = rng.normal(size=(count, 4)).astype(np.float32)
    role = [roles[(k // 2) % len(roles)] for k in range(count)]
    return Inputs(
        {name: FeatureMatrix(ids, tuple("wxyz"), values) for name, values in (("good", good), ("noise", noise))},
        Labels({"classes": pd.DataFrame({"item": ids, "class": [f"c{m}" for m in member]})}),
        Roles(pd.DataFrame({"item_id": ids, "group_id": ids, "role": role, "fold": 0})),
    )


def test_every_test_item_is_a_query_against_everything() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    assert set(outcome.scores) == {"best_fea", "uni_con"}
    for scores in outcome.scores.values():
        assert scores.ids.tolist() == given.roles.items("test")
        assert scores.names == tuple(given.features["good"].ids.tolist())


def test_best_fea_takes_a_dimension_that_tells_the_classes_apart_and_wins_over_noise() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    assert outcome.facts["best_fea"].startswith("good/")
    metrics = retrieval.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50)).metrics
    noise_only = retrieval.run(given, RetrievalConfig(features=("noise",), scaling_pairs=2000))
    by_noise = retrieval.measure(noise_only.scores, given.labels, EvaluationConfig(resamples=50)).metrics
    assert metrics["best_fea"]["map"] > 0.85
    assert 0.4 < by_noise["uni_con"]["map"] < 0.6, "two equal classes: chance is about a half"
    assert by_noise["uni_con"]["map"] < metrics["uni_con"]["map"] < metrics["best_fea"]["map"]


def test_test_labels_are_not_looked_at() -> None:
    """Whatever the classes of the test items say, the model and its scores are the same."""
    given = inputs()
    table = given.labels["classes"].copy()
    secret = table["item"].isin(given.roles.items("test"))
    table.loc[secret, "class"] = table.loc[secret, "class"].to_numpy()[::-1]
    changed = Inputs(given.features, Labels({"classes": table}), given.roles)
    one, other = retrieval.run(given, CONFIG), retrieval.run(changed, CONFIG)
    assert all(np.array_equal(one.arrays[k], other.arrays[k]) for k in one.arrays)
    assert np.array_equal(one.scores["uni_con"].values, other.scores["uni_con"].values)


def test_without_validation_items_the_choice_is_made_on_rank() -> None:
    assert retrieval.run(inputs(roles=("base", "rank", "test")), CONFIG).facts["best_fea"].startswith("good/")


@pytest.mark.parametrize(
    ("roles", "message"),
    [(("rank", "test"), "scales φ on items of role base"), (("base", "test"), "valid or rank")],
)
def test_missing_roles_are_named(roles: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        retrieval.run(inputs(roles=roles), CONFIG)


def test_missing_features_and_labels_are_named() -> None:
    given = inputs()
    with pytest.raises(DataError, match="'gist' is not there"):
        retrieval.run(given, RetrievalConfig(features=("gist",)))
    with pytest.raises(DataError, match="with a class"):
        retrieval.run(Inputs(given.features, Labels({}), given.roles), CONFIG)


def test_the_section_shows_methods_and_pictures() -> None:
    given = inputs()
    outcome = retrieval.run(given, CONFIG)
    measured = retrieval.measure(outcome.scores, given.labels, EvaluationConfig(resamples=50))
    section = retrieval.section(outcome.scores, measured, given.labels, lambda item: None, results=5)
    assert section.title == "Retrieval"
    assert {type(block).__name__ for block in section.blocks} >= {"Table", "Figure", "Gallery"}
