"""RankBoost over pairs: against an obvious oracle, the identity of losses, a planted answer, and idle features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.learners.boosting import pair_rankboost
from mediarank.learners.boosting.pair_rankboost import PairRankBoost
from mediarank.types import DataError


def pairs(seed: int, count: int = 80, features: int = 3, levels: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    better = rng.integers(0, levels, (features, count)) * (rng.random((features, count)) < 0.8)
    worse = rng.integers(0, levels, (features, count))
    return better.astype(np.uint8), worse.astype(np.uint8), rng.random(count) + 0.01


def ranked(model: PairRankBoost, levels: np.ndarray) -> np.ndarray:
    """H by its definition: the weak rankers' sum."""
    h = np.zeros(levels.shape[1])
    for k, level, alpha in zip(model.features_, model.levels_, model.weights_, strict=True):
        h += alpha * (levels[k] <= level)
    return h


def oracle(better: np.ndarray, worse: np.ndarray, w: np.ndarray, rounds: int) -> list[tuple[int, int, float]]:
    """Algorithm 1 by trying every feature and threshold on every pair."""
    d, found = w / w.sum(), []
    for _ in range(rounds):
        best = (0.0, 0, 0)
        for k in range(len(better)):
            for level in range(int(max(better.max(), worse.max())) + 1):
                r = float(np.sum(d * ((better[k] <= level) * 1.0 - (worse[k] <= level))))
                if abs(r) > abs(best[0]) + 1e-12:
                    best = (r, k, level)
        r, k, level = best
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        d = d * np.exp(alpha * ((worse[k] <= level) * 1.0 - (better[k] <= level)))
        d /= d.sum()
        found.append((k, level, alpha))
    return found


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_equals_trying_everything(seed: int) -> None:
    better, worse, w = pairs(seed)
    model = PairRankBoost(rounds=6).fit(better, worse, w)
    expected = oracle(better, worse, w, 6)
    np.testing.assert_allclose(model.weights_, [alpha for _, _, alpha in expected], atol=1e-9)
    assert list(zip(model.features_.tolist(), model.levels_.tolist(), strict=True)) == [(k, b) for k, b, _ in expected]


@pytest.mark.parametrize("step", ["bound", "exact"])
def test_the_product_of_z_is_the_final_exponential_loss(step: str) -> None:
    better, worse, w = pairs(1, count=200)
    model = PairRankBoost(rounds=60, step=step).fit(better, worse, w)
    loss = np.sum(w / w.sum() * np.exp(ranked(model, worse) - ranked(model, better)))
    assert model.losses_[-1] == pytest.approx(loss, rel=1e-9)
    assert (np.diff(model.losses_) < 0).all()


def test_the_exact_step_falls_no_slower_in_its_first_round() -> None:
    better, worse, w = pairs(2)
    bound, exact = (PairRankBoost(1, step).fit(better, worse, w).losses_[1] for step in ("bound", "exact"))
    assert exact <= bound


def test_finds_the_feature_that_tells() -> None:
    rng = np.random.default_rng(3)
    better, worse = rng.integers(0, 9, (2, 4, 300)).astype(np.uint8)
    better[2], worse[2] = rng.integers(0, 4, 300), rng.integers(4, 9, 300)
    model = PairRankBoost(rounds=1).fit(better, worse, np.ones(300))
    assert (model.features_.tolist(), model.levels_.tolist()) == ([2], [3])
    assert model.weights_[0] > 2


def test_weights_decide_who_is_listened_to() -> None:
    better, worse = np.uint8([[0, 1], [1, 0]]), np.uint8([[1, 0], [0, 1]])  # the features contradict each other
    for weight, winner in (([9, 1], 0), ([1, 9], 1)):
        model = PairRankBoost(rounds=1).fit(better, worse, weight)
        h = ranked(model, better) - ranked(model, worse)
        assert h[winner] > 0 > h[1 - winner]


def test_features_that_tell_nothing_end_the_boosting() -> None:
    same = np.zeros((3, 10), np.uint8)
    model = PairRankBoost(rounds=5).fit(same, same, np.ones(10))
    assert len(model.weights_) == 0
    assert not model.tables(3, 4).any()


def test_tables_add_up_to_h() -> None:
    better, worse, w = pairs(4)
    model = PairRankBoost(rounds=25).fit(better, worse, w)
    table = model.tables(3, 6)
    np.testing.assert_allclose(table[np.arange(3)[:, None], better].sum(axis=0), ranked(model, better), atol=1e-5)
    half = PairRankBoost(rounds=12).fit(better, worse, w)
    np.testing.assert_array_equal(model.tables(3, 6, rounds=12), half.tables(3, 6))


def test_threads_and_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    better, worse, w = pairs(5, count=500)
    monkeypatch.setattr(pair_rankboost, "BLOCK", 64)
    found = []
    for jobs in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        found.append(PairRankBoost(rounds=20).fit(better, worse, w).weights_.tobytes())
    assert found[0] == found[1]
    monkeypatch.undo()
    np.testing.assert_allclose(PairRankBoost(rounds=20).fit(better, worse, w).weights_, np.frombuffer(found[0]))


def test_what_does_not_fit_is_refused() -> None:
    better, worse, w = pairs(6)
    with pytest.raises(DataError, match="don't fit"):
        PairRankBoost().fit(better, worse[:, :-1], w)
    for bad in (-w, 0 * w, np.full(len(w), np.nan)):
        with pytest.raises(DataError, match="finite"):
            PairRankBoost().fit(better, worse, bad)


def test_the_kernels_are_their_python() -> None:
    better, worse, w = pairs(7, count=30)
    potential, again = np.zeros((3, 6)), np.zeros((3, 6))
    everyone = np.arange(30, dtype=np.uint16)
    pair_rankboost._add_potentials.py_func(better, worse, 0, everyone, w, potential)
    for k in range(3):
        expected = np.bincount(better[k], w, 6) - np.bincount(worse[k], w, 6)
        np.testing.assert_allclose(potential[k], expected, atol=1e-12)
    before = w.sum()
    change = pair_rankboost._reweigh.py_func(better, worse, 0, 1, 2, 0.5, 2.0, w, potential)
    pair_rankboost._add_potentials.py_func(better, worse, 0, everyone, w, again)
    np.testing.assert_allclose(potential, again, atol=1e-12)
    assert w.sum() - before == pytest.approx(change)
