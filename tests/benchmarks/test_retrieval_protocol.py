"""Section 5 as functions: folds that don't leak, types that are picked, distractors, and the live simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import retrieval_online
import retrieval_tried
from retrieval_large import count_above, draw_distractors, run_large, shortlist_recall
from retrieval_online import Retrained, live_learners, simulate
from retrieval_protocol import FOLDS, Protocol, deal_folds, pick_types, prepare, run_fold
from retrieval_results import FoldRows, Results, Row, best_by_validation, maps, significance, table
from retrieval_types import Described
from retrieval_variants import feature_sets, run_held_out, run_learned

from mediarank.learners.pairwise.lambdamart import LambdaMART
from mediarank.learners.pairwise.phi_rankers import Validation
from mediarank.learners.pairwise.triplets import Triplets, draw_pairs
from mediarank.similarity.scaling import fit_scaler
from mediarank.systems.retrieval.collection import Collection
from mediarank.types import DataError, FeatureMatrix, Floats

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
    assert prepared.types == (0, 1, 2, 3)
    picked = pick_types(prepared.validation, prepared.triplets, 2)
    assert picked == (0, 2), "noise is not picked"
    narrow = prepared.narrowed(picked)
    assert narrow.types == (0, 2)
    assert narrow.triplets.phi.shape[1] == narrow.validation.phi.shape[2] == len(narrow.scaler.mean) == 8
    np.testing.assert_array_equal(narrow.triplets.phi[:, 4:], prepared.triplets.phi[:, 8:12])


def test_the_whole_protocol_finds_what_is_there() -> None:
    given = collection()
    fold_of = deal_folds(given.items, given.classes, 1)
    folds = []
    for fold in range(FOLDS):
        prepared = prepare(given, fold_of, fold, SMALL)
        rows, _ = run_fold(prepared.narrowed((0, 2)), SMALL.methods, "picked")
        folds.append(FoldRows(fold, prepared.test, rows))
    found = maps(folds, "picked")
    assert found["arow"] > found["best_fea"] > 0.3 > 1 / 5
    assert found.keys() == {*SMALL.methods, "opar2_last"}
    assert ((table(folds)["spread"] >= 0) & (table(folds)["spread"] < 0.2)).all()
    p = significance(folds, "best_fea").set_index("method")["p"]
    assert p["arow"] < 0.05


def test_the_candidates_of_a_slow_method_are_compared_on_a_third(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    judged: list[int] = []

    def fitted(self: LambdaMART, data: Triplets) -> LambdaMART:
        seen.append(len(data.offsets) - 1)
        return self

    def predicted(self: LambdaMART, phi: Floats) -> Floats:
        judged.append(len(phi))
        return phi[:, self.leaves % 3]

    monkeypatch.setattr(LambdaMART, "fit_triplets", fitted)
    monkeypatch.setattr(LambdaMART, "predict", predicted)
    given = collection()
    prepared = prepare(given, deal_folds(given.items, given.classes, 1), 0, SMALL)
    rows, chosen = run_fold(prepared, ("lambdamart",), "picked")
    queries, items = len(prepared.triplets.offsets) - 1, len(prepared.validation.items)
    assert seen == [round(queries / 3)] * 6 + [queries]
    assert judged[:7] == [round(20 / 3) * items] * 6 + [20 * items]
    assert rows[0].chosen["leaves"] == chosen["lambdamart"].ranker.leaves


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
    validation = Validation.of_classes(classes, list(classes)[:20], phi)
    names = np.array(list(classes.values()))
    relevant = names[None] == names[:20, None]
    better, worse = [], []
    for query in range(20):
        better.append(rng.choice(np.flatnonzero(relevant[query]), 30) + 60 * query)
        worse.append(rng.choice(np.flatnonzero(~relevant[query]), 30) + 60 * query)
    rows = np.repeat(np.arange(20), 60)
    triplets = Triplets(phi.reshape(-1, 12), rows, relevant.ravel(), np.concatenate(better), np.concatenate(worse))
    assert pick_types(validation, triplets, 2) == (0, 2)


def described(given: Collection) -> Described:
    ids = np.array(given.items)
    names = ("told", "noise", "network")
    matrices = {n: FeatureMatrix(ids, tuple("abcdef"), given.rows[k]) for k, n in enumerate(names)}
    return Described("", given.classes, matrices, frozenset(given.items[:10]))


def test_learned_similarities_are_measured_on_known_and_on_unseen_classes() -> None:
    given = collection(count=300, classes=10)
    fold_of = deal_folds(given.items, given.classes, 1)
    sets = feature_sets(("told", "noise"), ("network",))
    assert list(sets) == ["learned_similarity", "network", "all"]
    protocol = replace(SMALL, instances=500)
    known = run_learned(described(given), fold_of, 0, sets, protocol)
    unseen = run_held_out(described(given), fold_of, 0, sets, protocol)
    assert {fold_of[q] for q in (*known.queries, *unseen.queries)} == {0}
    assert {given.classes[q] for q in unseen.queries} <= {"0", "5"}, "every fifth class is left out"
    assert not {*known.queries, *unseen.queries} & described(given).reserved
    found = maps([known], "all")
    assert found["posteriors"] > found["uni_con"]
    assert found["served"] in set(found.values())
    assert best_by_validation([[known], [known]]) >= found["uni_con"]
    assert set(known.facts) == set(sets)


def test_results_are_kept_until_the_settings_change(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> FoldRows:
        made.append(1)
        return FoldRows(2, ["q"], [Row("picked", "opr", [0.5], 0.4, 1.0, {"C": 1.0})], {"picked": (1, 2)})

    for _ in range(2):
        kept = Results(tmp_path, {"seed": 1, "methods": ("opr",)}).once("paper", 2, make)
    assert len(made) == 1
    assert kept.rows[0].map == 0.5
    assert list(kept.facts["picked"]) == [1, 2]
    Results(tmp_path, {"seed": 2, "methods": ("opr",)}).once("paper", 2, make)
    assert len(made) == 2


def test_distractors_are_parts_of_two_pictures_of_other_classes() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=40).astype(np.int32)
    drawn = draw_distractors(labels, 500, 3, rng)
    assert (drawn.classes[:, 0] != drawn.classes[:, 1]).all()
    for parts, classes in zip(drawn.parts, drawn.classes, strict=True):
        assert set(labels[parts]) <= set(classes)
        assert len(set(parts)) <= 2
    by_type = rng.normal(size=(3, 40))
    bounds = np.sort(rng.normal(size=7))[::-1]
    found = count_above.py_func(by_type, drawn.parts, drawn.classes, 2, -bounds)
    scores = [by_type[range(3), p].sum() for p, c in zip(drawn.parts, drawn.classes, strict=True) if 2 not in c]
    assert found.tolist() == [int((np.array(scores) > bound).sum()) for bound in bounds]
    np.testing.assert_array_equal(found, count_above(by_type, drawn.parts, drawn.classes, 2, -bounds))


def test_distractors_cost_precision_and_shortlists_find_what_is_near(tmp_path: Path) -> None:
    given = collection()
    prepared = prepare(given, deal_folds(given.items, given.classes, 1), 0, SMALL).narrowed((0, 2))
    found, weights = run_large(prepared, SMALL, 1000, 400)
    plain, crowded = (maps([found], name) for name in ("plain", "distractors"))
    assert plain["opar2"] > plain["best_fea"]
    assert all(crowded[method] < plain[method] for method in plain)
    exact = run_fold(prepared, ("uni_con",), "picked")[0][0]
    assert plain["uni_con"] == pytest.approx(exact.map, abs=1e-4)
    labels = np.array([int(given.classes[item]) for item in prepared.training], np.int32)
    drawn = draw_distractors(labels, 400, 2, np.random.default_rng(0))
    places = [given.position[item] for item in prepared.training]
    shares = shortlist_recall(prepared.collection, {"opar2": weights["opar2"]}, drawn, places, tmp_path)
    assert shares["opar2"] == 1.0, "a shortlist of 2,500 holds all of 550"


def test_hard_negatives_are_the_nearest_of_other_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval_tried, "HARD", 5)
    given = collection()
    scaler = fit_scaler(given.rows, 2000, np.random.default_rng(0))
    drawn = draw_pairs([given.classes[i] for i in given.items], 600, np.random.default_rng(1))
    hard = retrieval_tried.hard_negatives(given, drawn, scaler, 1.0, np.random.default_rng(2))
    np.testing.assert_array_equal(hard.item[drawn.relevant], drawn.item[drawn.relevant])
    query = int(drawn.query[0])
    scores = given.scaled_phi(given.items[query], scaler).sum(axis=1)
    other = np.array([given.classes[i] != given.classes[given.items[query]] for i in given.items])
    nearest = np.argsort(-np.where(other, scores, -np.inf))[:5]
    assert set(hard.item[(drawn.visit == 0) & ~drawn.relevant]) == set(nearest)
    same = retrieval_tried.hard_negatives(given, drawn, scaler, 0.0, np.random.default_rng(2))
    np.testing.assert_array_equal(same.item, drawn.item)


def test_crowded_items_and_expanded_queries() -> None:
    """By hand: all scores of one item with the others, and those of a query's first result."""
    given = collection(count=60)
    scaler = fit_scaler(given.rows, 2000, np.random.default_rng(0))
    weights = np.ones(16, np.float32)
    scores = np.array([given.scaled_phi(item, scaler) @ weights for item in given.items])
    others = np.where(np.eye(60, dtype=bool), -np.inf, scores)
    crowd = retrieval_tried.crowding(given, scaler, weights, np.random.default_rng(0))
    np.testing.assert_allclose(crowd, np.sort(others, axis=0)[-10:].mean(axis=0), atol=1e-3)
    queries = list(given.items[3:6])
    wider = retrieval_tried.expanded(given, scaler, weights, queries, scores[3:6].astype(np.float32), 1)
    for k, row in enumerate(wider):
        np.testing.assert_allclose(row, scores[3 + k] + scores[others[3 + k].argmax()], atol=1e-3)


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
