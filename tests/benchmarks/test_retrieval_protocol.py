"""Section 5 as functions: folds that don't leak, types that are picked, and the simulation of a live system."""

from __future__ import annotations

import numpy as np
import pytest
import retrieval_online
from retrieval_online import Retrained, live_learners, simulate
from retrieval_protocol import (
    FOLDS,
    Protocol,
    cross_validate,
    deal_folds,
    pick_types,
    prepare,
    summary,
)

from mediarank.learners.pairwise.phi_rankers import Validation
from mediarank.similarity.scaling import fit_scaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import DataError

SMALL = Protocol(
    methods=("best_fea", "uni_con", "opar2", "arow"),
    types=2,
    instances=2000,
    validation_queries=20,
    test_queries=15,
    scaling_pairs=1000,
)


def collection(count: int = 150, classes: int = 5) -> Collection:
    """Two types that tell the classes apart, a little each, and two of noise."""
    rng = np.random.default_rng(0)
    member = np.arange(count) % classes
    centres = rng.normal(size=(classes, 6))
    told = [(centres[member] + rng.normal(size=(count, 6))).astype(np.float32) for _ in range(2)]
    noise = [rng.normal(size=(count, 6)).astype(np.float32) for _ in range(2)]
    items = tuple(f"i{k:03d}" for k in range(count))
    return Collection(
        items, {i: str(m) for i, m in zip(items, member, strict=True)}, (told[0], noise[0], told[1], noise[1])
    )


def test_folds_are_even_and_each_sees_every_class() -> None:
    given = collection()
    fold_of = deal_folds(given.items, given.classes, seed=1)
    assert np.bincount(list(fold_of.values())).tolist() == [30] * FOLDS
    for fold in range(FOLDS):
        assert {given.classes[i] for i in given.items if fold_of[i] == fold} == set("01234")


def test_a_fold_does_not_leak() -> None:
    given = collection()
    fold_of = deal_folds(given.items, given.classes, seed=1)
    never = frozenset(given.items[:40])
    prepared = prepare(given, fold_of, 2, SMALL, never)
    assert {fold_of[i] for i in prepared.test} == {2}
    assert {fold_of[i] for i in prepared.validation.queries} == {3}
    assert {fold_of[i] for i in prepared.training} == {4, 0, 1}
    assert 2 not in {fold_of[i] for i in prepared.validation.items}, "test items' classes choose nothing"
    assert not never & {*prepared.test, *prepared.validation.queries}
    assert len(prepared.triplets) >= SMALL.instances
    assert prepared.picked == (0, 2), "noise is not picked"


def test_the_whole_protocol_finds_what_is_there() -> None:
    given = collection()
    results = list(cross_validate(given, deal_folds(given.items, given.classes, 1), SMALL))
    table = summary(results)
    assert len(results) == FOLDS
    assert table["arow"]["map"] > table["best_fea"]["map"]
    assert table["best_fea"]["map"] > 0.3 > 1 / 5
    assert all(0 <= row["spread"] < 0.2 for row in table.values())


def test_too_few_items_are_refused() -> None:
    given = collection(count=4, classes=2)
    with pytest.raises(DataError, match="5 folds need more items"):
        prepare(given, deal_folds(given.items, given.classes, 0), 4, SMALL)


def test_types_are_picked_for_what_they_add() -> None:
    """The second type repeats the first, the third is weaker but other: together the first and third win."""
    rng = np.random.default_rng(3)
    classes = {f"i{k:02d}": str(k % 4) for k in range(60)}
    same = np.array([[a == b for b in classes.values()] for a in list(classes.values())[:20]], dtype=np.float64)
    first = same + 0.8 * rng.normal(size=same.shape)
    other = same + 1.0 * rng.normal(size=same.shape)
    phi = np.concatenate([np.repeat(v[..., None], 4, axis=2) for v in (first, first, other)], axis=2).astype(np.float32)
    assert pick_types(Validation.of_classes(classes, list(classes)[:20], phi), 2) == (0, 2)


def test_live_methods_learn_and_uni_con_does_not() -> None:
    given = collection()
    scaler = fit_scaler(given.rows, 2000, np.random.default_rng(0))
    queries = np.random.default_rng(2).permutation(given.items)[:80].tolist()
    learners = live_learners(16, {"opar2": {"C": 0.01}, "arow": {"r": 10.0}})
    before = learners["uni_con"].ranking_weights.copy()
    table = simulate(given, scaler, queries, learners, shown=20)
    last = table.groupby("method").last()["cumulative"]
    assert np.array_equal(learners["uni_con"].ranking_weights, before)
    assert last["arow"] > last["uni_con"]
    assert last["ranksvm"] > last["uni_con"]
    assert table.groupby("method")["seconds"].apply(lambda s: s.is_monotonic_increasing).all()
    first = table[table["round"] == 0]["ndcg"]
    assert first.nunique() == 1, "all start as Uni-Con"


def test_a_live_query_without_a_relevant_item_teaches_nothing() -> None:
    given = collection()
    classes = {**given.classes, "i000": "alone"}
    lonely = Collection(given.items, classes, given.rows)
    scaler = fit_scaler(given.rows, 500, np.random.default_rng(0))
    learners = live_learners(16, {})
    table = simulate(lonely, scaler, ["i000"], learners, shown=10)
    assert table["ndcg"].isna().all()
    assert all(np.allclose(learner.ranking_weights, 1 / 16) for learner in learners.values())
    with pytest.raises(DataError, match="not in the collection"):
        simulate(lonely, scaler, ["stranger"], learners)


def test_the_reservoir_is_bounded_and_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval_online, "RankSVM", None)  # not reached: no retraining here
    learner = Retrained(np.zeros(1, np.float32), every=10**6, capacity=500)
    for start in range(0, 5000, 100):
        learner.partial_fit(np.arange(start, start + 100, dtype=np.float32)[:, None])
    kept = np.array(learner.kept)[:, 0]
    assert len(kept) == 500
    assert len(np.unique(kept)) == 500
    assert 2200 < kept.mean() < 2800, "early and late triplets are kept alike"
