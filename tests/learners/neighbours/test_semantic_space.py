"""The space of kernel CCA: places by a plain formula, left-out places by fitting again, and what it finds."""

from __future__ import annotations

import numpy as np

from mediarank.learners.neighbours.semantic_space import PENALTY, RIDGE, SemanticSpace, fit_semantic_space


def made(images: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Distances (1, images, images) of points in three heaps, and words that go with the heaps."""
    rng = np.random.default_rng(seed)
    heap = np.arange(images) % 3
    points = np.eye(3)[heap] + 0.2 * rng.normal(size=(images, 3))
    distances = np.abs(points[:, None] - points[None]).sum(axis=2)
    words = np.concatenate([np.eye(3)[heap], (rng.random((images, 1)) < 0.5)], axis=1)
    return distances[None].astype(np.float32), words.astype(np.float32)


def fitted(stack: np.ndarray, words: np.ndarray, asked: np.ndarray) -> SemanticSpace:
    near = -stack[0, asked]
    near[np.arange(len(asked)), asked] = -np.inf
    return fit_semantic_space(near, asked, words, np.float32([1.0]), 0.7, False)


def plain_places(kernel: np.ndarray, among: np.ndarray, words: np.ndarray, centre: np.ndarray) -> np.ndarray:
    coefficients = np.linalg.solve(among + PENALTY * np.eye(len(among)), words)
    values, vectors = np.linalg.eigh(np.cov(words.T, bias=True))
    rows = (kernel @ coefficients - centre) @ (vectors / np.sqrt(np.maximum(values, 0) + RIDGE)) @ vectors.T
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_labelled_images_are_placed_as_if_they_were_not_labelled() -> None:
    stack, words = made()
    found = fitted(stack, words, np.arange(24))
    kernel = np.exp(-0.7 * stack[0].astype(np.float64))
    predicted = []
    for image in range(24):
        rest = np.delete(np.arange(24), image)
        inner = kernel[np.ix_(rest, rest)] + PENALTY * np.eye(23)
        predicted.append(kernel[image, rest] @ np.linalg.solve(inner, words[rest]))
    centre = np.mean(predicted, axis=0)
    values, vectors = np.linalg.eigh(np.cov(words.T, bias=True))
    rows = (np.array(predicted) - centre) @ (vectors / np.sqrt(np.maximum(values, 0) + RIDGE)) @ vectors.T
    np.testing.assert_allclose(found.points, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-3)
    new = found.similarity(stack[:, :5] + 0.1)
    places = plain_places(np.exp(-0.7 * (stack[0, :5] + 0.1)), kernel, words, centre)
    np.testing.assert_allclose(new, places @ found.points.T, atol=1e-3)


def test_images_of_one_kind_are_near() -> None:
    stack, words = made(60)
    found = fitted(stack, words, np.arange(60))
    near = found.of_known(np.arange(60))
    same = np.arange(60)[:, None] % 3 == np.arange(60) % 3
    assert near[same].mean() > near[~same].mean() + 0.5


def test_images_that_are_not_asked_are_placed_too() -> None:
    stack, words = made()
    found = fitted(stack, words, np.arange(0, 24, 2))
    assert not found.coefficients[1::2].any(), "the regression learns from those that are asked"
    np.testing.assert_allclose(np.linalg.norm(found.points, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.similarity(stack[:, 1:2])[0, 1], 1, atol=1e-4)


def test_only_some_types() -> None:
    stack, words = made()
    found = fitted(stack, words, np.arange(24))
    two = SemanticSpace(np.float32([0.0, 1.0]), found.sharpness, found.coefficients, found.offset, found.points)
    assert two.used().tolist() == [False, True]
    np.testing.assert_array_equal(two.only([1]).similarity(stack), found.similarity(stack))
