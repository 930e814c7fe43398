from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from mediarank.learners.fusion.equalisation import equalise
from mediarank.learners.fusion.linear_fusion import Concatenation
from mediarank.learners.fusion.recycling import Recycling
from mediarank.learners.fusion.weighted_ridge import weighted_ridge, with_bias


def made(seed: int, learned: int = 200, seen: int = 40, share: float = 0.2) -> tuple[np.ndarray, ...]:
    """A good classifier that overfits little and a poor one that overfits much: held-in scores tell the opposite."""
    rng = np.random.default_rng(seed)

    def unseen(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) < round(n * share)
        return rng.normal(0, 0.1, (n, 2)) + np.outer(y, [0.2, 0.02]) + 0.3, y

    source, source_y = unseen(learned)
    source = source + np.outer(source_y, [0.0, 0.5])
    return (source, source_y, *unseen(seen))


def test_one_iteration_is_equalisation_alone() -> None:
    source, source_y, target, target_y = made(0)
    fitted = Recycling(iterations=1).fit(source, source_y, target, target_y)
    both = np.concatenate([equalise(source, source_y, target, target_y), target])
    y = np.concatenate([source_y, target_y]).astype(float)
    plain = weighted_ridge(with_bias(both), y, np.full(len(y), 1 / len(y)), 0.01)
    learned = np.append(fitted.weights_, fitted.bias_)
    np.testing.assert_allclose(learned / np.linalg.norm(learned), plain / np.linalg.norm(plain))


def test_it_trusts_the_classifier_that_is_good_on_unseen_clips() -> None:
    source, source_y, target, target_y = made(1, seen=100)
    recycled = Recycling().fit(source, source_y, target, target_y).weights_
    naive = Concatenation().fit(source, source_y, target, target_y).weights_
    assert recycled[0] > 1.5 * recycled[1]
    assert naive[1] > naive[0], "held-in scores praise the one that overfits"


def test_the_last_stage_predicts() -> None:
    source, source_y, target, target_y = made(2)
    fitted = Recycling(iterations=4).fit(source, source_y, target, target_y)
    assert fitted.staged_.shape == (4, 3)
    np.testing.assert_allclose(fitted.staged_[-1], np.append(fitted.weights_, fitted.bias_))
    np.testing.assert_allclose(fitted.predict(target), with_bias(target) @ fitted.staged_[-1])


def test_settings_change_what_they_say() -> None:
    parts = made(3, seen=10)
    plain = Recycling().fit(*parts).weights_
    for changed in (Recycling(balanced=True), Recycling(target_step="adaptive"), Recycling(doubt=3.0)):
        assert not np.allclose(changed.fit(*parts).weights_, plain)


def test_endless_doubt_leaves_held_in_scores_as_they_are() -> None:
    parts = made(3)
    doubting, naive = Recycling(iterations=1, doubt=1e12).fit(*parts), Concatenation().fit(*parts)
    scale = np.linalg.norm(doubting.weights_) / np.linalg.norm(naive.weights_)
    np.testing.assert_allclose(doubting.weights_, scale * naive.weights_, rtol=1e-6)


def test_two_positives_in_all_are_enough() -> None:
    source, source_y, target, target_y = made(4, learned=30, seen=8)
    source_y, target_y = np.arange(30) < 1, np.arange(8) < 1
    fused = Recycling().fit(source, source_y, target, target_y).predict(target)
    assert np.isfinite(fused).all()


def test_settings_are_checked() -> None:
    adapter = TypeAdapter(Recycling)
    assert adapter.validate_python({"iterations": 3}).iterations == 3
    for bad in ({"iterations": 0}, {"strength": 0.0}, {"doubt": -1.0}, {"target_step": "both"}):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)
