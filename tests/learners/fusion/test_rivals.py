"""Events that compete for clips."""

from __future__ import annotations

import numpy as np

from mediarank.learners.fusion.rivals import against_rivals


def test_with_a_share_of_1_it_is_the_log_odds_of_exclusive_events() -> None:
    """The odds of one event, or none, against one of the others."""
    odds = np.random.default_rng(0).uniform(0.1, 5, (7, 3))
    found = against_rivals(np.log(odds), 1.0)
    for event in range(3):
        others = 1 + np.delete(odds, event, axis=1).sum(axis=1)
        np.testing.assert_allclose(found[:, event], np.log(odds[:, event] / others))


def test_without_rivals_or_a_share_nothing_changes() -> None:
    odds = np.random.default_rng(1).normal(size=(5, 2))
    assert np.array_equal(against_rivals(odds, 0.0), odds)
    assert np.array_equal(against_rivals(odds[:, :1], 1.0), odds[:, :1])
    assert np.isfinite(against_rivals(np.full((2, 3), 900.0), 1.0)).all()
