"""Fitted kernels: what is learned comes from training items, and makes kernels comparable."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.fitted_kernel import fit_kernel
from mediarank.similarity.kernels import KERNELS
from mediarank.types import ConfigError


def rows(n: int = 20, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 6)).astype(np.float32)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unit_spread_on_training_items(kernel: str) -> None:
    """Trace normalisation of the centred kernel: the mean squared distance in feature space is 2."""
    [(fitted, gram)] = fit_kernel(kernel, 7 * rows())
    centring = np.eye(20) - 1 / 20
    assert np.trace(centring @ gram @ centring) / 20 == pytest.approx(1.0, rel=1e-4)
    np.testing.assert_allclose(fitted.between(fitted.anchors), gram, rtol=1e-4, atol=1e-5)


def test_what_all_items_share_does_not_count_for_size() -> None:
    """A constant added to every value changes no difference, and so must not change a linear kernel's scale."""
    [(plain, _)], [(shifted, _)] = fit_kernel("linear", rows()), fit_kernel("linear", rows() + 1)
    assert shifted.scale == pytest.approx(plain.scale, rel=1e-3)


def test_gamma_factors_multiply_the_mean() -> None:
    results = fit_kernel("exponential_chi2", rows(), (0.5, 2.0))
    assert results[1][0].gamma == pytest.approx(4 * results[0][0].gamma)
    assert len(fit_kernel("linear", rows(), (0.5, 2.0))) == 1  # nothing to choose


def test_other_items_do_not_change_what_was_learned() -> None:
    [(fitted, _)] = fit_kernel("rbf", rows())
    many, few = rows(50, 1), rows(50, 1)[:3]
    np.testing.assert_array_equal(fitted.between(many)[:3], fitted.between(few))
    at_others = fitted.anchored_at(rows(4, 2))
    assert (at_others.gamma, at_others.scale) == (fitted.gamma, fitted.scale)
    np.testing.assert_array_equal(at_others.between(few), fitted.between(few, rows(4, 2)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_feature_that_says_nothing(kernel: str) -> None:
    for constant in (0.0, 3.0):
        [(fitted, gram)] = fit_kernel(kernel, np.full((5, 2), constant, np.float32))
        assert fitted.scale == 1.0
        assert np.isfinite(gram).all()


def test_unknown_kernel() -> None:
    with pytest.raises(ConfigError, match="exponential_chi2"):
        fit_kernel("cosine", rows())
