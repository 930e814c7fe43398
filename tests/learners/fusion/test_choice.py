"""Choosing a fusion by cross-validation over unseen clips."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mediarank.learners.fusion.choice import Examples, best, candidates, validate
from mediarank.learners.fusion.fusion_methods import FUSIONS


def made(seed: int, good: float = 3.0, clips: int = 60, out_of_fold: bool = True) -> Examples:
    """The first classifier tells classes apart on unseen clips, the second only on those it was trained on."""
    rng = np.random.default_rng(seed)
    y = np.arange(clips) < clips // 4
    noise = rng.normal(0, 1, (3, clips, 2))
    unseen = noise[:2] + y[:, None] * [good, 0.0]
    held_in = noise[2] + y[:, None] * [0.5, 8.0]
    return Examples(expit(held_in - 1), expit(unseen[0] - 1) if out_of_fold else None, y, expit(unseen[1] - 1), y)


def test_what_generalises_is_chosen() -> None:
    events = [made(seed) for seed in range(3)]
    figures = validate(events, ["naive", "meta_only", "out_of_fold"])
    assert figures["naive"] < min(figures["meta_only"], figures["out_of_fold"]) - 0.05
    assert best(figures) in ("meta_only", "out_of_fold")


def test_the_figure_is_one_of_clips_that_were_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(12) < 4
    noise = Examples(rng.random((12, 30)), None, y, rng.random((12, 30)), y)
    assert validate([noise] * 3, ["meta_only"])["meta_only"] < 0.85  # it can learn all 12 by heart


def test_only_what_the_scores_allow_is_a_candidate() -> None:
    assert candidates([made(0)]) == list(FUSIONS)
    without = candidates([made(0, out_of_fold=False)])
    assert {"recycling", "average_log_odds"} <= set(without)
    assert not {"out_of_fold", "log_odds", "blended_log_odds"} & set(without)
    event = made(0)
    margins = Examples(event.held_in * 9, event.out_of_fold, event.source_y, event.target, event.target_y)
    assert all("log_odds" not in name for name in candidates([margins]))


def test_without_two_of_each_class_there_is_no_choice() -> None:
    event = made(0)
    lone = Examples(event.held_in, None, event.source_y, event.target, np.arange(60) < 1)
    assert validate([lone], ["average"]) == {}
    assert best({}) is None


def test_among_equals_the_first() -> None:
    assert best({"a": 0.5, "b": 0.7, "c": 0.7}) == "b"
