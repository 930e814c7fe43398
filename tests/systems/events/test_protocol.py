from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.evaluation.metrics import average_precision, best_f1
from mediarank.learners.fusion.fusion_methods import FUSIONS, fusion
from mediarank.systems.events.protocol import (
    EventScores,
    band,
    draw,
    figure2,
    figure5,
    learn,
    measured,
    run_protocol,
)
from mediarank.types import DataError


def made(seed: int = 0, base: int = 80, unseen: int = 24, test: int = 60, positives: float = 0.25) -> EventScores:
    """Classifier 0 is good, 1 poor but overfitted: the gap is known."""
    rng = np.random.default_rng(seed)

    def part(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) < max(2, round(positives * n))
        return np.clip(rng.normal(0.3, 0.15, (n, 2)) + np.outer(y, [0.25, 0.05]), 0.01, 0.99), y

    out_of_fold, base_y = part(base)
    held_in = np.clip(out_of_fold + np.outer(base_y, [0.1, 0.5]), 0.01, 0.99)
    return EventScores(held_in, out_of_fold, base_y, *part(unseen), *part(test))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([1 / 4, 1 / 8, 1 / 20]), st.floats(0.05, 0.5))
def test_draws_keep_the_ratio_and_the_share_of_positives_and_never_lose_the_last(
    seed: int, ratio: float, positives: float
) -> None:
    event = made(seed, positives=positives)
    draws = draw(event, ratio, 7, np.random.default_rng(seed))
    assert draws.source.shape == (7, 80)
    assert draws.source.max() < 80
    assert draws.target.shape == (7, min(24, max(3, round(ratio * 80))))
    for rows in draws.target:
        assert len(set(rows.tolist())) == len(rows), "without replacement"
        shown = int(event.unseen_y[rows].sum())
        assert 2 <= shown <= max(2, round(len(rows) * event.unseen_y.mean()))


def test_the_source_is_drawn_with_replacement_and_draws_differ() -> None:
    draws = draw(made(), 1 / 8, 5, np.random.default_rng(0))
    assert all(len(set(rows.tolist())) < len(rows) for rows in draws.source)
    assert len({tuple(sorted(rows.tolist())) for rows in draws.target}) > 1


def test_each_fusion_learns_from_the_scores_it_is_meant_for() -> None:
    event = made()
    draws = draw(event, 1 / 4, 3, np.random.default_rng(0))
    for method, scores in (("naive", event.held_in), ("out_of_fold", event.out_of_fold)):
        fitted = learn(method, event, draws)
        rows, seen = draws.source[1], draws.target[1]
        alone = fusion(method).make().fit(scores[rows], event.base_y[rows], event.unseen[seen], event.unseen_y[seen])
        np.testing.assert_allclose(fitted.weights_[1], alone.weights_)


def test_the_whole_is_what_a_loop_over_repeats_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    events = {"a": made(0), "b": made(1, base=60)}
    methods, ratios = ("meta_only", "recycling"), (1 / 4, 1 / 8)
    result = run_protocol(events, methods=methods, ratios=ratios, repeats=12)
    assert result.values.shape == (2, 2, 2, 2, 12)
    for e, event in enumerate(events.values()):
        for r, ratio in enumerate(ratios):
            draws = draw(event, ratio, 12, np.random.default_rng([7, e, r]))
            for m, method in enumerate(methods):
                fused = learn(method, event, draws.part(slice(11, 12))).predict(event.test)[0].astype(np.float32)
                assert result.values[0, m, e, r, 11] == pytest.approx(average_precision(event.test_y, fused))
                assert result.values[1, m, e, r, 11] == pytest.approx(best_f1(event.test_y, fused))
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    np.testing.assert_array_equal(
        run_protocol(events, methods=methods, ratios=ratios, repeats=12).values, result.values
    )


def test_the_known_gap_misleads_naive_concatenation_and_not_the_others() -> None:
    events = {str(seed): made(seed, base=400, unseen=100, test=600) for seed in range(3)}
    result = run_protocol(events, repeats=12)
    means = {method: np.mean(values) for method, values in result.means("ap").items()}
    assert means["naive"] < means["meta_only"] - 0.02
    assert means["recycling"] > means["naive"] + 0.02
    assert means["out_of_fold"] > means["naive"] + 0.02
    assert means["log_odds"] > max(means["recycling_log_odds"], means["out_of_fold"]) - 0.005


def test_figures_have_a_row_for_everything_they_show() -> None:
    events = {"a": made(0), "b": made(1)}
    result = run_protocol(events, ratios=(1 / 4, 1 / 8), repeats=6)
    table = result.figure4()
    assert len(table) == 2 * len(FUSIONS) * 2 * 2
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    gap = result.compare("ap", "recycling", "naive")
    expected = (result.of("ap", "recycling") - result.of("ap", "naive")).mean(axis=2).ravel()
    np.testing.assert_allclose(gap["difference"], expected)
    two = figure2(events["a"], ("good", "poor"), bins=10)
    np.testing.assert_allclose(two.groupby(["classifier", "part", "shown"])["share"].sum(), 1)
    assert len(two) == 2 * 2 * 2 * 10


def test_figure_5_starts_with_equalisation_alone_and_ends_with_recycling() -> None:
    event = made(2)
    table = figure5(event, ratio=1 / 4, iterations=10, repeats=6)
    assert table[table["metric"] == "ap"]["iteration"].tolist() == list(range(1, 11))
    draws = draw(event, 1 / 4, 6, np.random.default_rng([7, 5]))
    for iteration, method in ((1, "equal_weights"), (10, "recycling")):
        fused = learn(method, event, draws).predict(event.test).astype(np.float32)
        row = table[(table["metric"] == "ap") & (table["iteration"] == iteration)].iloc[0]
        assert row["mean"] == pytest.approx(measured(fused, event.test_y)[0].mean(), abs=1e-6)


def test_a_band_is_two_standard_errors_wide() -> None:
    mean, low, high = band(np.array([1.0, 2.0, 3.0, 4.0]))
    assert mean == 2.5
    assert high - mean == pytest.approx(mean - low) == pytest.approx(1.96 * np.std([1, 2, 3, 4], ddof=1) / 2)
    assert band(np.array([0.5])) == (0.5, 0.5, 0.5)


def test_two_positives_in_all_and_none_that_is_unseen() -> None:
    event = made(3)
    base_y, unseen_y = np.arange(80) < 2, np.zeros(24, bool)
    rare = EventScores(event.held_in, event.out_of_fold, base_y, event.unseen, unseen_y, event.test, event.test_y)
    assert np.isfinite(run_protocol({"rare": rare}, repeats=2).values).all()


def test_no_event_is_refused() -> None:
    with pytest.raises(DataError, match="no event"):
        run_protocol({})
