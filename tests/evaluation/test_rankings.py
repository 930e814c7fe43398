"""Rankings: the same measures as from all scores, in a space that does not grow with the collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mediarank import store
from mediarank.evaluation.protocols import per_query, rank_methods
from mediarank.evaluation.ranking_collector import Answers
from mediarank.evaluation.rankings import Rankings
from mediarank.types import DataError, FeatureMatrix, Judgments


def made(items: int, queries: int, best: int, levels: int = 1000) -> tuple[Rankings, FeatureMatrix, Judgments]:
    """Random scores (of few levels: with ties) of items of three classes, both ways."""
    rng = np.random.default_rng(items)
    names = tuple(f"i{k:04d}" for k in range(items))
    classes = rng.integers(0, 3, items)
    asked = sorted(rng.permutation(items)[:queries].tolist())
    scores = (rng.integers(0, levels, (queries, items)) / levels - 0.5).astype(np.float32)
    answers = Answers(names, best)
    for row, query in zip(scores, asked, strict=True):
        answers.add(names[query], query, row, np.flatnonzero(classes == classes[query]))
    matrix = FeatureMatrix(np.array([names[q] for q in asked]), names, scores)
    class_of = dict(zip(names, map(str, classes.tolist()), strict=True))
    judgments = Judgments.from_classes(class_of, [names[q] for q in asked])
    return answers.finish(), matrix, judgments


@pytest.mark.parametrize("levels", [2, 1000])
def test_every_measure_is_that_of_all_scores(levels: int) -> None:
    rankings, matrix, judgments = made(120, 15, best=10, levels=levels)
    table = per_query(rank_methods({"all": matrix, "best": rankings}, judgments)).set_index(["method", "query"])
    np.testing.assert_array_equal(table.loc["all"].to_numpy(), table.loc["best"].to_numpy())


def test_the_best_are_kept_with_their_scores() -> None:
    rankings, matrix, judgments = made(60, 4, best=7)
    for query in rankings.ids.tolist():
        row = matrix.rows([query])[0]
        others = [k for k, name in enumerate(matrix.names) if name != query]
        order = sorted(others, key=lambda k: (-row[k], k))[:7]
        assert [name for name, _ in rankings.first(query, 7)] == [matrix.names[k] for k in order]
        grades = judgments.grades(query, [matrix.names[k] for k in order]) > 0
        assert [right for _, right in rankings.first(query, 7)] == grades.tolist()
        kept = rankings.rows([query])[0]
        assert np.flatnonzero(~np.isnan(kept)).tolist() == sorted(order)
        np.testing.assert_array_equal(kept[order], row[order])


def test_few_items_are_all_kept_and_it_is_stored_whole(tmp_path: Path) -> None:
    rankings, _, _ = made(5, 3, best=1000)
    assert (np.isnan(rankings.rows(rankings.ids)).sum(axis=1) == 1).all(), "all but the query itself"
    store.write_rankings(tmp_path / "scores/method", rankings)
    found = store.read_method(tmp_path / "scores/method")
    assert isinstance(found, Rankings)
    assert found.names == rankings.names
    for name in ("ids", "best", "scores", "places", "offsets", "candidates"):
        np.testing.assert_array_equal(getattr(found, name), getattr(rankings, name))


def test_its_size_does_not_grow_with_the_items_that_are_not_relevant(tmp_path: Path) -> None:
    sizes = []
    for items in (2_000, 8_000):
        answers = Answers([f"{k:05d}" for k in range(items)], best=50)
        rng = np.random.default_rng(0)
        for query in range(20):
            answers.add(f"{query:05d}", query, rng.random(items, np.float32), np.arange(30))
        store.write_rankings(tmp_path / str(items) / "method", answers.finish())
        sizes.append((tmp_path / str(items) / "method/rankings.npz").stat().st_size)
    assert sizes[0] == sizes[1]


def test_what_is_no_number_is_refused() -> None:
    answers = Answers(["a", "b"])
    with pytest.raises(DataError, match="not numbers"):
        answers.add("a", 0, np.array([0, np.nan], np.float32), np.array([1]))
    answers.add("a", 0, np.array([0, 1], np.float32), np.array([1]))
    with pytest.raises(DataError, match="not among the 1 queries"):
        answers.finish().first("b", 1)
