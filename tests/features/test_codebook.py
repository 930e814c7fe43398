from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mediarank.features.codebook import Codebook, fit_codebook
from mediarank.types import DataError

CENTRES = np.array([[0, 0, 9], [9, 0, 0], [0, 9, 0], [5, 5, 5]], dtype=np.float32)


def clusters(seed: int = 0, each: int = 100) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = np.repeat(CENTRES, each, axis=0) + rng.normal(0, 0.2, (4 * each, 3))
    return rng.permutation(points).astype(np.float32)


def test_words_are_the_clusters() -> None:
    codebook = fit_codebook(clusters(), 4, seed=0)
    distances = np.linalg.norm(codebook.words[:, None] - CENTRES, axis=2)
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 0.15
    assert codebook.spread == pytest.approx(0.2 * np.sqrt(3), rel=0.1)


def test_the_seed_decides_and_nothing_else_does() -> None:
    data = np.random.default_rng(1).normal(size=(2000, 8)).astype(np.float32)
    first = fit_codebook(data, 16, seed=3)
    with threadpool_limits(2):
        again = fit_codebook(data.copy(), 16, seed=3)
    np.testing.assert_array_equal(first.words, again.words)
    assert first.digest() == again.digest() != fit_codebook(data, 16, seed=4).digest()


def test_standardising_weighs_dimensions_alike() -> None:
    rng = np.random.default_rng(0)
    small_split = np.repeat([0.0, 1.0], 200) + rng.normal(0, 0.05, 400)
    data = np.stack([rng.normal(0, 100, 400), small_split], axis=1).astype(np.float32)
    codebook = fit_codebook(data, 2, 0, standardise=True)
    np.testing.assert_allclose(codebook.scale, data.std(axis=0), rtol=1e-5)
    assert fit_codebook(data, 2, 0).scale.tolist() == [1, 1]


def test_a_constant_dimension_keeps_its_scale() -> None:
    data = np.c_[clusters(), np.full(400, 7)].astype(np.float32)
    assert fit_codebook(data, 4, 0, standardise=True).scale[3] == 1


def test_it_survives_being_flattened() -> None:
    codebook = fit_codebook(clusters(), 4, 0, standardise=True)
    again = Codebook.of_flat(codebook.flat(), 4, 3)
    np.testing.assert_array_equal(again.words, codebook.words)
    np.testing.assert_array_equal(again.scale, codebook.scale)
    assert again.spread == codebook.spread
    assert again.digest() == codebook.digest()


def test_coinciding_descriptors_are_no_error() -> None:
    codebook = fit_codebook(np.ones((50, 2), np.float32), 3, 0)
    assert np.isfinite(codebook.words).all()
    assert codebook.spread > 0


def test_too_few_descriptors_say_what_to_do() -> None:
    with pytest.raises(DataError, match="lower `words`"):
        fit_codebook(np.zeros((5, 3), np.float32), 6, 0)


@pytest.mark.parametrize(
    ("words", "scale", "spread"),
    [
        (np.zeros((3, 2)), np.ones(2, np.float32), 1.0),
        (np.zeros((3, 2), np.float32), np.ones(3, np.float32), 1.0),
        (np.full((3, 2), np.nan, np.float32), np.ones(2, np.float32), 1.0),
        (np.zeros((3, 2), np.float32), np.zeros(2, np.float32), 1.0),
        (np.zeros((3, 2), np.float32), np.ones(2, np.float32), 0.0),
    ],
)
def test_a_broken_codebook_is_refused(words: np.ndarray, scale: np.ndarray, spread: float) -> None:
    with pytest.raises(DataError, match="codebook"):
        Codebook(words, scale, spread)
