"""Fitting and choosing: nothing leaks from held-out images, and the method that does best on them is chosen."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from made_annotation import QUICK, made_inputs

from mediarank.evaluation.keywords import KeywordScores, row_scores
from mediarank.learners.neighbours.keyword_scores import KeywordRule
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import BoostedOrder
from mediarank.systems.annotation.average import choose_average
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.systems.annotation.methods import Tried, choose, fit_methods, folds_of
from mediarank.systems.annotation.rankers import RANKERS


def labelled(shuffled_fold: int | None = None) -> Labelled:
    """All images as training images in three folds; the words of one fold may be shuffled."""
    inputs = made_inputs(60)
    items = inputs.features["colour"].ids.tolist()
    true = words_of(inputs.labels, items)
    keywords = Keywords.of(items, true, sorted({word for words in true.values() for word in words}))
    fold_of = np.arange(60) % 3
    rows = keywords.rows.copy()
    if shuffled_fold is not None:
        own = np.flatnonzero(fold_of == shuffled_fold)
        rows[own] = rows[np.random.default_rng(1).permutation(own)]
    vectors = [inputs.features[name].values for name in QUICK.features]
    return Labelled.of(vectors, QUICK.measures, Keywords(keywords.words, rows), fold_of, np.arange(60))


@pytest.mark.parametrize("name", RANKERS)
def test_a_ranker_does_not_see_the_words_of_held_out_images(name: str) -> None:
    first, second = (RANKERS[name](Part.outside(labelled(shuffled), 1), QUICK, True) for shuffled in (None, 1))
    assert [settings for settings, _ in first] == [settings for settings, _ in second]
    for (_, one), (_, other) in zip(first, second, strict=True):
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@pytest.mark.parametrize("name", ["rnn", "tagprop", "lasso", "best_feature", "aligned", "margin", "learned"])
def test_a_ranker_learns_which_feature_tells(name: str) -> None:
    _, ranker = RANKERS[name](Part.outside(labelled(), None), QUICK, False)[-1]
    if isinstance(ranker, BoostedOrder):
        colour, noise = np.abs(np.diff(ranker.tables, axis=1)).sum(axis=1)
    else:
        colour, noise = ranker.weights
    assert colour > 2 * noise


def test_jec_divides_by_the_deviation_or_by_the_maximum() -> None:
    part = Part.outside(labelled(), None)
    for name, size in (("jec", np.std), ("jec_maximum", np.max)):
        [(_, ranker)] = RANKERS[name](part, QUICK, False)
        expected = [1 / len(QUICK.features) / size(values) for values in part.labelled.stack]
        np.testing.assert_allclose(ranker.weights, expected, rtol=1e-4)


def test_a_labelled_image_is_placed_without_its_own_words() -> None:
    """In the space of kernel CCA, what an image's own words say must not move the image itself."""
    images = labelled()
    rows = images.keywords.rows.copy()
    rows[0] = 1 - rows[0]
    changed = replace(images, keywords=Keywords(images.keywords.words, rows))
    parts = [Part.outside(these, None) for these in (images, changed)]
    near = [part.similarity(RANKERS["kcca"](part, QUICK, False)[0][1]) for part in parts]
    assert np.isneginf(near[0][0, 0])
    others = np.corrcoef(near[0][0, 1:], near[1][0, 1:])[0, 1]
    assert others > 0.9, "its neighbours stay, though it now has all the other words"


def test_the_best_on_held_out_images_is_chosen() -> None:
    found = fit_methods(labelled(), ["rnn", "jec", "2pknn"], QUICK)
    assert list(found) == ["rnn", "jec", "2pknn"]
    for fitted in found.values():
        best = max(fitted.tried, key=lambda tried: tried.scores.f1)
        assert fitted.chosen.scores.f1 >= best.scores.f1 - best.error
    assert found["jec"].ranker is found["2pknn"].ranker
    assert {tried.rule.kind for tried in found["rnn"].tried} == {"count", "vote"}
    assert {tried.settings["rounds"] for tried in found["rnn"].tried} == {5, 20}


def test_of_what_can_not_be_distinguished_the_most_balanced_is_chosen() -> None:
    def tried(precision: float, recall: float, error: float = 0.02) -> Tried:
        f1 = 2 * precision * recall / (precision + recall)
        return Tried({}, KeywordRule("count"), KeywordScores(precision, recall, f1, 9, 0), error)

    greedy, balanced, worse = tried(0.2, 0.5), tried(0.28, 0.28), tried(0.24, 0.25)
    assert choose([greedy, balanced, worse]) is balanced
    certain = replace(greedy, error=0.001)
    assert choose([balanced, certain, worse]) is certain
    assert choose([worse, tried(0.25, 0.24)]) is worse


def test_for_images_the_best_suggestions_of_single_images_are_chosen() -> None:
    tried = [
        Tried({}, KeywordRule("count"), KeywordScores(0.5, 0.5, 0.5, 9, 0, image_f1=0.2)),
        Tried({}, KeywordRule("count"), KeywordScores(0.1, 0.3, 0.15, 9, 0, image_f1=0.4)),
    ]
    assert [choose(tried, aim) for aim in ("f1", "image_f1")] == tried


def test_held_out_scores_are_those_that_were_measured() -> None:
    images = labelled()
    found = fit_methods(images, ["ridge", "tagprop", "2pknn"], QUICK)
    for method in found.values():
        held_out = zip(folds_of(images), method.chosen.held_out_scores(), strict=True)
        scores = [row_scores(Part.outside(images, fold).true, rows, QUICK.words) for fold, rows in held_out]
        assert np.mean([one.f1 for one in scores]) == pytest.approx(method.chosen.scores.f1)


def test_an_average_takes_what_helps_and_leaves_out_what_does_not() -> None:
    """Two methods know half of the words each; a third deals them at random, loudly."""
    rng = np.random.default_rng(0)
    true = [(rng.random((30, 8)) < 0.3).astype(np.float32) for _ in range(2)]
    for rows in true:
        rows[:, :2] = 1  # every image has words

    def knows(words: slice) -> list[np.ndarray]:
        shown = [np.zeros_like(rows) for rows in true]
        for rows, own in zip(true, shown, strict=True):
            own[:, words] = rows[:, words]
        return shown

    held_out = {"first": knows(slice(0, 4)), "second": knows(slice(4, 8))}
    held_out["noise"] = [100 * rng.random(rows.shape, np.float32) for rows in true]
    found = choose_average(held_out, true, 5, "f1")
    assert set(found.of) == {"first", "second"}
    assert found.units == tuple(float(np.concatenate(held_out[name]).std()) for name in found.of)
    assert found.scores.recall > 0.95


def test_words_dealt_at_random_are_not_found() -> None:
    """The figures of cross-validation are of images that were not learned from."""
    config = replace(QUICK, methods=("rnn",))
    images = labelled()
    noise = np.random.default_rng(2).permutation(len(images.keywords))
    shuffled = replace(images, keywords=images.keywords.restricted_to(noise))
    right, random = (fit_methods(these, ["rnn"], config)["rnn"].chosen.scores.f1 for these in (images, shuffled))
    assert right > random + 0.2
