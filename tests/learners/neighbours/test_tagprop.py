"""TagProp: its gradient, a planted feature, sigmoids that lift rare words, results independent of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from mediarank.learners.neighbours import tagprop
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.tagprop import TagProp, propagated
from mediarank.types import DataError


def made(images: int = 60, words: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Keywords]:
    """Neighbours whose first distance tells whether they share words; the second is noise."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, words, images)
    rows = np.zeros((images, words), np.float32)
    rows[np.arange(images), topic] = 1
    rows[np.arange(images), rng.integers(0, words, images)] = 1
    places = np.stack([rng.permutation(np.delete(np.arange(images), i))[:20] for i in range(images)])
    telling = np.where(topic[places] == topic[:, None], 0.0, 1.0) + 0.1 * rng.random(places.shape)
    distances = np.stack([telling, rng.random(places.shape)], axis=2).astype(np.float32)
    return places.astype(np.int64), distances, Keywords(tuple(f"w{k}" for k in range(words)), rows)


def loss(parameters: np.ndarray, places: np.ndarray, distances: np.ndarray, keywords: Keywords) -> float:
    """The likelihood by its definition."""
    theta, slopes, offsets = np.split(parameters, [2, 2 + len(keywords.words)])
    weights = np.exp(-distances.astype(float) @ theta)
    weights /= weights.sum(axis=1, keepdims=True)
    x = np.einsum("ij,ijw->iw", weights, keywords.rows[places])
    p = 1 / (1 + np.exp(-(slopes * x + offsets)))
    y = keywords.rows > 0
    return float(-np.log(p[y]).mean() - np.log(1 - p[~y]).mean())


def test_the_kernel_equals_the_definition_and_its_numeric_gradient() -> None:
    places, distances, keywords = made(12)
    parameters = np.random.default_rng(1).random(2 + 12) * 2
    theta, slopes, offsets = np.split(parameters, [2, 8])
    y = keywords.rows > 0
    balance = 1 / y.sum(), 1 / (~y).sum()
    for kernel in (tagprop._likelihood, tagprop._likelihood.py_func):
        gradient = np.zeros(14)
        got = kernel(places, distances, y, *keywords.by_image, theta, slopes, offsets, *balance, gradient)
        assert got == pytest.approx(loss(parameters, places, distances, keywords), rel=1e-9)
        expected = approx_fprime(parameters, loss, 1e-6, places, distances, keywords)
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_learns_which_distance_tells() -> None:
    places, distances, keywords = made()
    model = TagProp(iterations=60).fit(places, distances, keywords)
    assert model.weights_[0] > 3 * model.weights_[1] >= 0
    assert model.losses_[-1] < model.losses_[0]
    predicted = model.predict(places, distances, keywords)
    assert predicted[keywords.rows > 0].mean() > predicted[keywords.rows == 0].mean() + 0.2


def test_a_words_own_sigmoid_lifts_it() -> None:
    keywords = Keywords(("common", "rare"), np.float32([[1, 0], [1, 0], [1, 1]]))
    args = np.array([[0, 1, 2]]), np.zeros((1, 3, 1), np.float32), keywords, np.zeros(1)
    plain = propagated(*args, np.ones(2), np.zeros(2))[0]
    lifted = propagated(*args, np.array([1.0, 9.0]), np.zeros(2))[0]
    assert plain[0] > plain[1]
    assert lifted[1] > lifted[0]


def test_threads_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    places, distances, keywords = made(40, seed=3)
    monkeypatch.setattr(tagprop, "BLOCK", 7)
    found = []
    for jobs in ("1", "3"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        found.append(TagProp(iterations=5).fit(places, distances, keywords).weights_.tobytes())
    assert found[0] == found[1]


def test_words_that_no_image_has_are_never_likely() -> None:
    places, distances, keywords = made(30)
    silent = Keywords((*keywords.words, "unheard"), np.pad(keywords.rows, ((0, 0), (0, 1))))
    predicted = TagProp(iterations=20).fit(places, distances, silent).predict(places, distances, silent)
    assert predicted[:, -1].max() < 0.5
    assert np.isfinite(predicted).all()


def test_what_does_not_fit_is_refused() -> None:
    places, distances, keywords = made(30)
    with pytest.raises(DataError, match="don't fit"):
        TagProp().fit(places[:-1], distances, keywords)


def test_the_small_kernels_are_their_python() -> None:
    places, distances, keywords = made(8)
    theta = np.array([2.0, 0.5])
    weights, compiled = np.empty(7), np.empty(7)
    tagprop._softmax.py_func(distances[0], theta, weights)
    tagprop._softmax(distances[0], theta, compiled)
    np.testing.assert_allclose(weights, compiled)
    assert weights.sum() == pytest.approx(1)
    shares = np.zeros((1, 6))
    tagprop._shares.py_func(places[:1], distances[:1], *keywords.by_image, theta, shares)
    np.testing.assert_allclose(shares[0], weights @ keywords.rows[places[0]])
