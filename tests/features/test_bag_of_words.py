from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mediarank.features import bag_of_words
from mediarank.features.bag_of_words import BagOfWords, assign
from mediarank.features.base import Descriptors
from mediarank.features.codebook import Codebook, fit_codebook
from mediarank.features.hue import Hue
from mediarank.types import DataError

RNG = np.random.default_rng(0)
CODEBOOK = Codebook(RNG.normal(size=(7, 5)).astype(np.float32), np.array([1, 2, 1, 1, 0.5], np.float32), 0.8)
VALUES = RNG.normal(size=(300, 5)).astype(np.float32)


def bag(granularity: str = "global", **kwargs: object) -> BagOfWords:
    family = Hue(bins=5, words=7, granularity=granularity, **kwargs)
    return BagOfWords(family, CODEBOOK)


def test_hard_assignment_is_the_nearest_word() -> None:
    words, shares = assign(VALUES, CODEBOOK, 1)
    np.testing.assert_array_equal(words[:, 0], cdist(VALUES / CODEBOOK.scale, CODEBOOK.words).argmin(axis=1))
    assert (shares == 1).all()


def test_soft_assignment_is_a_gaussian_of_the_nearest() -> None:
    words, shares = assign(VALUES, CODEBOOK, 3)
    distances = cdist(VALUES / CODEBOOK.scale, CODEBOOK.words)
    for row in range(len(VALUES)):
        nearest = np.argsort(distances[row])[:3]
        weights = np.exp(-(distances[row, nearest] ** 2) / (2 * 0.8**2))
        expected = dict(zip(nearest.tolist(), weights / weights.sum(), strict=True))
        got = dict(zip(words[row].tolist(), shares[row], strict=True))
        assert got == pytest.approx(expected, abs=1e-4)


def test_more_neighbours_than_words_are_all_words() -> None:
    words, shares = assign(VALUES, CODEBOOK, 50)
    assert words.shape == (300, 7)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = assign(VALUES, CODEBOOK, 3)
    monkeypatch.setattr(bag_of_words, "_BLOCK", 11)
    parts = assign(VALUES, CODEBOOK, 3)
    np.testing.assert_array_equal(np.sort(whole[0]), np.sort(parts[0]))
    np.testing.assert_allclose(np.sort(whole[1]), np.sort(parts[1]), atol=1e-5)


def test_a_bag_counts_words() -> None:
    places = np.zeros((300, 2), np.float32)
    counts = np.bincount(assign(VALUES, CODEBOOK, 1)[0][:, 0], minlength=7)
    np.testing.assert_allclose(bag().encode(Descriptors(VALUES, places)), counts / 300, rtol=1e-6)
    np.testing.assert_array_equal(bag(normalisation="none").encode(Descriptors(VALUES, places)), counts)
    soft = bag(assignment="soft", neighbours=3).encode(Descriptors(VALUES, places))
    assert soft.sum() == pytest.approx(1, rel=1e-5)
    assert np.abs(soft - counts / 300).sum() > 0.01


def test_the_order_of_descriptors_does_not_matter() -> None:
    order = np.random.default_rng(1).permutation(300)
    places = RNG.random((300, 2)).astype(np.float32)
    a = bag("pyramid").encode(Descriptors(VALUES, places))
    b = bag("pyramid").encode(Descriptors(VALUES[order], places[order]))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_regions_count_what_lies_in_them() -> None:
    places = np.repeat(np.array([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5]], np.float32), 100, axis=0)
    vector = bag("thirds").encode(Descriptors(VALUES, places)).reshape(3, 7)
    for third in range(3):
        alone = bag().encode(Descriptors(VALUES[100 * third : 100 * third + 100], places[:100]))
        np.testing.assert_allclose(vector[third], alone, rtol=1e-6)
    assert bag("thirds").names()[7] == "3x1.1.0/word0"


def test_nothing_to_count_is_zeros() -> None:
    empty = Descriptors(np.zeros((0, 5), np.float32), np.zeros((0, 2), np.float32))
    for assignment in ("hard", "soft"):
        assert bag("2x2", assignment=assignment).encode(empty).tolist() == [0] * 28


def test_identity_follows_the_codebook_and_the_family() -> None:
    other = Codebook(CODEBOOK.words + 1, CODEBOOK.scale, CODEBOOK.spread)
    identities = {
        bag().identity(),
        BagOfWords(bag().local, other).identity(),
        bag("thirds").identity(),
        bag(assignment="soft").identity(),
        bag(step=4).identity(),
    }
    assert len(identities) == 5
    assert bag(pool="max").identity() == bag().identity()  # pooling comes after


def test_a_codebook_of_another_family_is_refused() -> None:
    with pytest.raises(DataError, match=r"needs \(7, 6\)"):
        BagOfWords(Hue(bins=6, words=7), CODEBOOK)


def test_pictures_of_a_kind_have_bags_of_a_kind() -> None:
    colours = {"red": (220, 30, 30), "blue": (30, 40, 210), "reddish": (230, 60, 50)}
    pictures = {name: np.full((40, 40, 3), colour, np.uint8) for name, colour in colours.items()}
    family = Hue(words=2)
    descriptors = np.concatenate([family.describe(p).values for p in pictures.values()])
    vectors = {n: BagOfWords(family, fit_codebook(descriptors, 2, 0)).extract(p) for n, p in pictures.items()}
    assert np.abs(vectors["red"] - vectors["reddish"]).sum() < np.abs(vectors["red"] - vectors["blue"]).sum()
