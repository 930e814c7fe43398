from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import rankdata

from mediarank.learners.fusion import equalisation
from mediarank.learners.fusion.equalisation import equalise
from mediarank.types import ConfigError

Doubles = np.ndarray


def plain(source: Doubles, source_y: Doubles, target: Doubles, target_y: Doubles) -> Doubles:
    """The definition, a class and a classifier at a time: mid-ranks, then linear interpolation."""
    out = source.copy()
    for shown in (True, False):
        learned, seen = source_y == shown, target_y == shown
        if not seen.any() or not learned.any():
            continue
        for column in range(source.shape[1]):
            quantiles = (rankdata(source[learned, column]) - 0.5) / learned.sum()
            places = (np.arange(seen.sum()) + 0.5) / seen.sum()
            out[learned, column] = np.interp(quantiles, places, np.sort(target[seen, column]))
    return out


@st.composite
def examples(draw: st.DrawFn) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    scores = st.floats(0, 1).map(lambda x: round(x, 2))  # so that there are ties
    n, m, k = draw(st.integers(1, 12)), draw(st.integers(1, 12)), draw(st.integers(1, 3))
    return (
        draw(hnp.arrays(np.float64, (n, k), elements=scores)),
        draw(hnp.arrays(bool, n)),
        draw(hnp.arrays(np.float64, (m, k), elements=scores)),
        draw(hnp.arrays(bool, m)),
    )


@settings(deadline=None, max_examples=60)
@given(examples())
def test_equals_the_definition_rises_within_a_class_and_stays_in_the_targets_range(drawn: tuple[Doubles, ...]) -> None:
    source, source_y, target, target_y = drawn
    mapped = equalise(source, source_y, target, target_y)
    np.testing.assert_allclose(mapped, plain(source, source_y, target, target_y), atol=1e-12)
    for shown in (True, False):
        learned, seen = source_y == shown, target_y == shown
        for column in range(source.shape[1]):
            order = np.argsort(source[learned, column], kind="stable")
            assert (np.diff(mapped[learned, column][order]) >= -1e-12).all()
            if learned.any() and seen.any():
                assert mapped[learned, column].min() >= target[seen, column].min() - 1e-12
                assert mapped[learned, column].max() <= target[seen, column].max() + 1e-12


def test_marginals_match_those_of_the_target() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.random((60, 2)), rng.normal(5, 2, (60, 2))
    y = np.arange(60) < 20
    mapped = equalise(source, y, target, y)
    for shown in (True, False):
        np.testing.assert_allclose(np.sort(mapped[y == shown], axis=0), np.sort(target[y == shown], axis=0))


def test_equal_scores_stay_equal_and_stand_at_the_middle_of_their_ranks() -> None:
    source = np.array([[0.9], [0.9], [0.9], [0.1]])
    mapped = equalise(source, np.ones(4, bool), np.array([[1.0], [2.0], [3.0], [4.0]]), np.ones(4, bool))
    np.testing.assert_allclose(mapped[:, 0], [3.0, 3.0, 3.0, 1.0])


def test_a_constant_classifier_is_mapped_to_the_middle_of_its_class() -> None:
    y = np.array([True, True, False, False])
    mapped = equalise(np.full((4, 1), 0.5), y, np.array([[0.6], [0.8], [0.1], [0.3]]), y)
    np.testing.assert_allclose(mapped[:, 0], [0.7, 0.7, 0.2, 0.2])


def test_a_class_that_the_target_lacks_is_left_as_it_is() -> None:
    source = np.array([[0.9], [0.2]])
    mapped = equalise(source, np.array([True, False]), np.array([[0.5]]), np.array([False]))
    np.testing.assert_allclose(mapped[:, 0], [0.9, 0.5])


def test_doubt_goes_part_of_the_way_the_further_the_more_examples_there_are() -> None:
    source, y = np.array([[0.9], [0.9]]), np.array([True, False])
    target = np.zeros((10, 1))
    seen = np.arange(10) < 1  # one positive, nine negatives
    mapped = equalise(source, y, target, seen, doubt=3)
    np.testing.assert_allclose(mapped[:, 0], [0.9 * 3 / 4, 0.9 * 3 / 12])
    with pytest.raises(ConfigError, match="doubt"):
        equalise(source, y, target, seen, doubt=-1)


def test_repeats_are_mapped_each_by_itself() -> None:
    rng = np.random.default_rng(1)
    source, target = rng.random((3, 20, 2)), rng.random((3, 9, 2))
    source_y, target_y = rng.random((3, 20)) < 0.4, rng.random((3, 9)) < 0.4
    together = equalise(source, source_y, target, target_y)
    for k in range(3):
        np.testing.assert_array_equal(together[k], equalise(source[k], source_y[k], target[k], target_y[k]))


def test_the_kernel_in_python_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    given_scores = rng.random((12, 2)).round(1), rng.random(12) < 0.5, rng.random((7, 2)), rng.random(7) < 0.5
    compiled = equalise(*given_scores, doubt=2)
    monkeypatch.setattr(equalisation, "_at_quantile", equalisation._at_quantile.py_func)
    monkeypatch.setattr(equalisation, "_equalise", equalisation._equalise.py_func)
    np.testing.assert_allclose(equalise(*given_scores, doubt=2), compiled)


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(equalisation).failed == 0
