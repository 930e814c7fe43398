"""Order, ties, and the batched ranks against a slow sort of every row."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.evaluation import ranks as module
from mediarank.evaluation.ranks import Ranks, Relevance, rank_relevant, ranking
from mediarank.types import DataError, FeatureMatrix, Judgments

SCORES = [-np.inf, -2.5, -0.0, 0.0, 1e-30, 0.5, np.inf]


def slow_ranks(scores: FeatureMatrix, judgments: Judgments) -> dict[str, list[tuple[int, float]]]:
    """(rank, grade) of the relevant items of each query, by sorting tuples."""
    found = {}
    for query, grades in judgments:
        row = dict(zip(scores.names, scores.values[list(scores.ids).index(query)].tolist(), strict=True))
        order = sorted((c for c in judgments.candidates if c != query), key=lambda c: (-row[c], c))
        found[query] = [(k, grades[c]) for k, c in enumerate(order, start=1) if c in grades]
    return found


def unpacked(ranks: Ranks) -> dict[str, list[tuple[int, float]]]:
    pairs = list(zip(ranks.ranks.tolist(), ranks.grades.tolist(), strict=True))
    return {q: pairs[ranks.offsets[k] : ranks.offsets[k + 1]] for k, q in enumerate(ranks.queries)}


@st.composite
def problems(draw: st.DrawFn) -> tuple[FeatureMatrix, Judgments]:
    """Matrices full of ties, with unjudged columns, unused rows, and queries that are items."""
    items = draw(st.lists(st.text("abxyz/", min_size=1, max_size=3), min_size=1, max_size=8, unique=True))
    judged = draw(st.lists(st.sampled_from(items), min_size=1, unique=True))
    queries = draw(st.lists(st.sampled_from([*items, "query one", "query two"]), min_size=1, max_size=4, unique=True))
    relevant = {
        q: {i: float(draw(st.integers(1, 3))) for i in judged if i != q and draw(st.booleans())} for q in queries
    }
    cells = draw(
        st.lists(st.sampled_from(SCORES), min_size=len(items) * len(queries), max_size=len(items) * len(queries))
    )
    values = np.array(cells, dtype=np.float32).reshape(len(queries), len(items))
    matrix = FeatureMatrix(np.array(queries), tuple(items), values)
    return matrix, Judgments(tuple(reversed(queries)), tuple(judged), relevant)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_batched_ranks_equal_a_slow_sort(problem: tuple[FeatureMatrix, Judgments]) -> None:
    matrix, judgments = problem
    ranks = rank_relevant(matrix, Relevance.from_judgments(judgments))
    assert unpacked(ranks) == slow_ranks(matrix, judgments)
    assert ranks.candidates.tolist() == [len(set(judgments.candidates) - {q}) for q in judgments.queries]


def test_blocks_do_not_change_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    items = tuple(f"i{k:02d}" for k in range(30))
    matrix = FeatureMatrix(np.array(items[:11]), items, draw.integers(0, 9, (11, 30)).astype(np.float32))
    judgments = Judgments.from_classes({i: str(k % 4) for k, i in enumerate(items)}, items[:11])
    whole = rank_relevant(matrix, Relevance.from_judgments(judgments))
    monkeypatch.setattr(module, "BLOCK_CELLS", 70)  # two rows at a time
    parts = rank_relevant(matrix, Relevance.from_judgments(judgments))
    assert unpacked(whole) == unpacked(parts)


def test_the_kernels_mean_the_same_uncompiled() -> None:
    scores = np.array([[0.5, -1.0, 0.5, 0.0, 2.0, -0.0]], dtype=np.float32)
    place = np.array([2, 0, 1, 4, -1, 3])  # ids descend between columns 0 and 2; column 4 is not ranked
    own = np.array([-1])
    items, item_grades, offsets = np.array([0, 2, 4]), np.array([1.0, 2.0, 3.0]), np.array([0, 3])
    found = []
    for write, find in ((module.write_keys, module.find_relevant),) * 2:
        keys = np.empty((1, 6), dtype=np.uint64)
        ranks, grades = np.empty(3, dtype=np.int64), np.empty(3)
        compiled = not found
        (write if compiled else write.py_func)(scores, place, own, keys)
        keys.sort(axis=1)
        (find if compiled else find.py_func)(keys, items, item_grades, offsets, np.zeros(6), ranks, grades)
        found.append((ranks.tolist(), grades.tolist()))
    # The order of places is 1, 2 (tied at 0.5), 3, 4 (tied at 0), 0.
    assert found[0] == found[1] == ([2, 4, 5], [2.0, 3.0, 1.0])


@pytest.mark.parametrize("columns", [1, 5, module.FEW - 1, module.FEW, 3000])
@pytest.mark.parametrize("in_order", [True, False])
def test_keys_are_sorted_as_numpy_sorts_them(columns: int, in_order: bool) -> None:
    draw = np.random.default_rng(columns)
    scores = draw.choice([-np.inf, -1e30, -0.5, -0.0, 0.0, 0.25, 0.5, 3e-39, np.inf], (4, columns)).astype(np.float32)
    scores[1] = draw.normal(size=columns)
    scores[2] = 0.5  # every digit above the places is the same
    place = np.arange(columns) if in_order else draw.permutation(columns)
    place[draw.random(columns) < 0.1] = -1
    keys = np.empty(scores.shape, np.uint64)
    module.write_keys(scores, place, np.array([-1, 0, columns - 1, columns // 2]), keys)
    wanted = np.sort(keys, axis=1)
    module.sort_keys(keys, in_order)
    np.testing.assert_array_equal(keys, wanted)


def test_ties_are_broken_by_id() -> None:
    assert ranking(["b", "a", "c", "d"], [1.0, 1.0, 1.0, 2.0]).tolist() == [3, 1, 0, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(SCORES), max_size=8), st.randoms(use_true_random=False))
def test_ranking_does_not_depend_on_the_order_of_the_input(scores: list[float], chance: object) -> None:
    ids = [f"i{k}" for k in range(len(scores))]
    shuffled = list(range(len(scores)))
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    first = [ids[k] for k in ranking(np.array(ids, dtype=str), np.array(scores))]
    mixed = [shuffled[k] for k in ranking(np.array(ids, dtype=str)[shuffled], np.array(scores)[shuffled])]
    assert first == [ids[k] for k in mixed]


def test_a_query_is_not_found_by_itself() -> None:
    matrix = FeatureMatrix(np.array(["a"]), ("a", "b", "c"), np.array([[9, 1, 2]], dtype=np.float32))
    judgments = Judgments(("a",), ("a", "b", "c"), {"a": {"a": 1.0, "b": 1.0}})
    ranks = rank_relevant(matrix, Relevance.from_judgments(judgments))
    assert unpacked(ranks) == {"a": [(2, 1.0)]}
    assert ranks.candidates.tolist() == [2]


def test_what_can_not_be_ranked_is_refused() -> None:
    judgments = Judgments(("q",), ("a", "b"), {"q": {"a": 1.0}})
    relevance = Relevance.from_judgments(judgments)
    with pytest.raises(DataError, match="1 of 2 judged items have no score, such as b"):
        rank_relevant(FeatureMatrix(np.array(["q"]), ("a",), np.ones((1, 1), np.float32)), relevance)
    with pytest.raises(DataError, match="'q' has scores that are not numbers"):
        rank_relevant(FeatureMatrix(np.array(["q"]), ("a", "b"), np.array([[0, np.nan]], np.float32)), relevance)
    with pytest.raises(DataError, match="no row"):
        rank_relevant(FeatureMatrix(np.array(["p"]), ("a", "b"), np.ones((1, 2), np.float32)), relevance)
    with pytest.raises(DataError, match="2 ids can't name 1 scores"):
        ranking(["a", "b"], [1.0])
    with pytest.raises(DataError, match="-inf"):
        ranking(["a"], [np.nan])


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
