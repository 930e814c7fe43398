"""The battery that every registered ranker gets, and how parameters are chosen."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_triplets import made_triplets

from mediarank.evaluation.metrics import average_precision
from mediarank.learners.pairwise import lambdamart
from mediarank.learners.pairwise.coordinate_ascent import (
    CoordinateAscent,
    _Lists,
    _mean_ap,
    _write_keys,
    mean_average_precision,
)
from mediarank.learners.pairwise.lambdamart import LambdaMART
from mediarank.learners.pairwise.phi_rankers import CURVED, RANKERS, FixedWeights, Validation, fit_all, ranker_arrays
from mediarank.learners.pairwise.ranknet import RankNet, _gradients
from mediarank.learners.pairwise.triplet_ranksvm import RankSVM
from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import ConfigError, DataError, MediarankError

LEARNED = [name for name in RANKERS if name not in ("best_fea", "uni_con")]


@pytest.mark.parametrize("name", LEARNED)
def test_every_learned_ranker_beats_uniform_weights_on_new_queries(name: str) -> None:
    data, fresh = made_triplets(0), made_triplets(1)
    uniform = mean_average_precision(fresh.phi.sum(axis=1), fresh)
    ranker = RANKERS[name](3)[-1]
    ranker.fit_triplets(data)
    assert mean_average_precision(ranker.predict(fresh.phi), fresh) > uniform + 0.1


@pytest.mark.parametrize("name", RANKERS)
def test_fitting_twice_gives_the_same_and_predictions_are_float32(name: str) -> None:
    data = made_triplets(2)
    one, other = RANKERS[name](3)[0], RANKERS[name](3)[0]
    one.fit_triplets(data)
    other.fit_triplets(made_triplets(3))
    other.fit_triplets(data)
    scores = one.predict(data.phi)
    assert scores.dtype == np.float32
    assert scores.shape == (len(data.phi),)
    assert np.array_equal(scores, other.predict(data.phi)), "nothing is left of what was learned before"


@pytest.mark.parametrize("name", sorted(set(RANKERS) - CURVED))
def test_a_linear_ranker_is_its_weights(name: str) -> None:
    data = made_triplets(4)
    ranker: Any = RANKERS[name](3)[0]
    ranker.fit_triplets(data)
    assert ranker.predict(data.phi) == pytest.approx(data.phi @ ranker.ranking_weights, abs=1e-5)


@pytest.mark.parametrize("name", ["ranknet", "lambdamart"])
def test_bent_relevance_needs_a_bent_ranker(name: str) -> None:
    data, fresh = made_triplets(0, 150, bent=True), made_triplets(1, 150, bent=True)
    ranker = RankNet(hidden=20, rate=0.01, epochs=30) if name == "ranknet" else LambdaMART(trees=30, leaves=7)
    ranker.fit_triplets(data)
    linear = RankSVM().fit_triplets(data)
    reached, straight = (mean_average_precision(r.predict(fresh.phi), fresh) for r in (ranker, linear))
    assert reached > straight + 0.2


def test_ranknet_follows_the_numeric_gradient() -> None:
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=shape).astype(np.float64) for shape in ((3, 4), (4,), (4,))]
    better, worse = rng.normal(size=(2, 6, 3))

    def loss() -> float:
        inner, bias, outer = layers
        gap = (np.tanh(better @ inner + bias) - np.tanh(worse @ inner + bias)) @ outer
        return float(np.mean(np.log1p(np.exp(-gap))))

    for layer, gradient in zip(layers, _gradients(layers, better, worse), strict=True):
        for place in np.ndindex(layer.shape):
            kept = layer[place]
            values = []
            for step in (1e-5, -1e-5):
                layer[place] = kept + step
                values.append(loss())
            layer[place] = kept
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-5)


def test_ranksvm_is_at_its_optimum() -> None:
    """Nothing near the solution has a lower objective, and C means the same when every triplet is doubled."""
    data = made_triplets(5)
    solved = RankSVM(C=5.0, tol=1e-6, max_sweeps=2000).fit_triplets(data)

    def objective(weights: np.ndarray) -> float:
        return 0.5 * weights @ weights + 5.0 * np.mean(np.maximum(0, 1 - data.differences @ weights))

    best = objective(solved.ranking_weights.astype(np.float64))
    rng = np.random.default_rng(0)
    assert solved.converged_
    for size in (1e-3, 1e-2, 0.1):
        for nudge in size * rng.normal(size=(50, 3)):
            assert best <= objective(solved.ranking_weights + nudge) + 1e-5


def test_the_training_map_is_the_metric() -> None:
    """With lists of unlike lengths, negative scores and equal ones."""
    whole = made_triplets(6)
    kept = np.random.default_rng(1).random(len(whole.phi)) < 0.7
    none = np.empty(0, np.intp)
    data = Triplets(whole.phi[kept], whole.query[kept], whole.relevant[kept], none, none)
    assert len(set(np.diff(data.offsets))) > 1
    for scores in (data.phi[:, 0], np.round(data.phi[:, 0]), -0.0 * data.phi[:, 0]):
        values = [
            average_precision(data.relevant[a:b], scores[a:b])
            for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
        ]
        assert mean_average_precision(scores, data) == pytest.approx(np.nanmean(values))
        lists = _Lists.of(data)
        _write_keys.py_func(np.ascontiguousarray(scores).view(np.uint32), data.relevant, data.offsets, lists.keys)
        lists.keys.sort(axis=1)
        assert _mean_ap.py_func(lists.keys, data.offsets) == pytest.approx(np.nanmean(values))


def test_coordinate_ascent_never_descends_and_stays_on_the_sphere() -> None:
    data = made_triplets(7)
    before = mean_average_precision(data.phi @ np.full(3, 1 / 3), data)
    ranker = CoordinateAscent().fit_triplets(data)
    assert ranker.training_map_ > before
    assert np.abs(ranker.weights_).sum() == pytest.approx(1)
    assert mean_average_precision(data.phi @ ranker.weights_, data) == pytest.approx(ranker.training_map_)


def test_a_forest_survives_being_stored() -> None:
    data = made_triplets(8)
    ranker = LambdaMART(trees=5).fit_triplets(data)
    assert np.array_equal(LambdaMART.restored(ranker.arrays()["forest"]).predict(data.phi), ranker.predict(data.phi))


def test_without_openmp_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file")
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MediarankError, match="libgomp1 on Debian"):
        lambdamart.import_lightgbm()


def validation(seed: int = 0) -> Validation:
    """Twelve items of three classes in a plane; φ is minus the distance on each axis, and only the first tells."""
    rng = np.random.default_rng(seed)
    classes = {f"i{k:02d}": str(k % 3) for k in range(12)}
    place = np.stack([np.arange(12) % 3 + 0.1 * rng.random(12), rng.random(12), rng.random(12)], axis=1)
    phi = -np.abs(place[:6, None] - place[None]).astype(np.float32)
    return Validation.of_classes(classes, list(classes)[:6], phi)


def test_the_best_dimension_is_chosen() -> None:
    found = fit_all({"best_fea": None}, made_triplets(0), validation())["best_fea"]
    assert found.parameters == {"name": "0"}
    assert found.validation_map == 1
    assert ranker_arrays("best_fea", found.ranker)["best_fea"].tolist() == [1, 0, 0]


def test_what_is_chosen_is_the_best_candidate_by_validation() -> None:
    data, chosen_by = made_triplets(0), validation()
    reached = []
    for candidate in RANKERS["scw"](3):
        candidate.fit_triplets(data)
        reached.append(chosen_by.judge(candidate)[0])
    assert fit_all({"scw": None}, data, chosen_by)["scw"].validation_map == max(reached)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="no ranking method 'magic'"):
        fit_all({"magic": None}, made_triplets(0), validation())
    with pytest.raises(DataError, match="None of the validation queries"):
        Validation.of_classes({"a": "1", "b": "2"}, ["a"], np.zeros((1, 2, 3), np.float32))


def test_a_query_without_a_relevant_item_does_not_count() -> None:
    classes = {"a": "1", "b": "1", "c": "2"}
    phi = np.float32([[[1], [2], [0]], [[0], [0], [0]]])
    assert Validation.of_classes(classes, ["a", "c"], phi).judge(FixedWeights("x", np.float32([1])))[0] == 1


def test_every_method_that_learns_has_as_many_candidates() -> None:
    counts = {name: len(make(3)) for name, make in RANKERS.items() if name not in ("best_fea", "uni_con", "opr")}
    assert set(counts.values()) == {6}, counts


def test_restarts_learn_from_queries_of_their_own() -> None:
    data = made_triplets(9)
    count = (len(data.offsets) - 1) // 3
    first, second = data.first_queries(count), data.first_queries(count, skip=count)
    assert np.array_equal(np.concatenate([first.phi, second.phi]), data.phi[: data.offsets[2 * count]])
    assert not set(first.query) & set(second.query)
    assert np.array_equal(second.query[second.better], second.query[second.worse])


def test_a_forest_stops_growing_when_held_out_queries_gain_nothing() -> None:
    rng = np.random.default_rng(0)
    data = made_triplets(10)
    noise = replace(data, phi=rng.normal(size=data.phi.shape).astype(np.float32))
    grown = LambdaMART(trees=300, patience=5).fit_triplets(noise)
    assert grown.booster_.num_trees() < 100
    assert np.array_equal(LambdaMART.restored(grown.arrays()["forest"]).predict(noise.phi), grown.predict(noise.phi))


def test_equal_scores_do_not_stop_lambdamart_at_its_first_tree() -> None:
    """Relevant rows come first in every query, as they are drawn; LightGBM keeps that order among equal scores."""
    rng = np.random.default_rng(0)
    queries, items = 60, 40
    relevant = np.tile(np.arange(items) < 10, queries)
    phi = rng.normal(size=(queries * items, 6)).astype(np.float32)
    phi[relevant] += 0.5
    rows = np.arange(queries * items).reshape(queries, items)
    better, worse = np.repeat(rows[:, :10], 3, axis=1).ravel(), rows[:, 10:].ravel()
    data = Triplets(phi, np.repeat(np.arange(queries), items), relevant, better, worse)
    grown = LambdaMART(leaves=4, patience=5).fit_triplets(data)
    assert grown.booster_.best_iteration > 5
    assert len(np.unique(grown.predict(phi))) > 20
