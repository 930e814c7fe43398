"""Rules for scoring words: what each learns, that scales change nothing else, and that images do not mix."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.neighbours.keyword_scores import CANDIDATES, RULES, KeywordRule, TrainingQueries, contrast
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_votes import find_neighbours, voted
from mediarank.types import ConfigError


def made(images: int = 40, topics: int = 4, seed: int = 0) -> tuple[np.ndarray, Keywords]:
    """Similarities among images of a few topics, whose words are the topic and one at random."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, topics, images)
    points = np.eye(topics)[topic] + rng.normal(scale=0.3, size=(images, topics))
    similarity = -np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2)).astype(np.float32)
    rows = np.zeros((images, topics + 2), np.float32)
    rows[np.arange(images), topic] = 1
    rows[np.arange(images), topics + rng.integers(0, 2, images)] = 1
    return similarity, Keywords(tuple(f"w{k}" for k in range(topics + 2)), rows)


def queries(seed: int = 0, images: int = 40) -> TrainingQueries:
    similarity, keywords = made(images, seed=seed)
    np.fill_diagonal(similarity, -np.inf)
    return TrainingQueries.of(similarity, keywords, np.arange(images))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_the_topic_of_new_images(rule: str) -> None:
    similarity, keywords = made(60, seed=3)
    known, new = np.arange(45), np.arange(45, 60)
    among = similarity[np.ix_(known, known)].copy()
    np.fill_diagonal(among, -np.inf)
    learned = TrainingQueries.of(among, keywords.restricted_to(known), known).learn(CANDIDATES[rule][:1])[0]
    scores = learned.scores(similarity[np.ix_(new, known)], keywords.restricted_to(known))
    assert scores.shape == (15, 6)
    assert (scores[:, :4].argmax(axis=1) == keywords.rows[new, :4].argmax(axis=1)).mean() >= 0.8


@pytest.mark.parametrize("rule", RULES)
def test_scores_do_not_depend_on_other_queries(rule: str) -> None:
    ready = queries()
    learned = ready.learn(CANDIDATES[rule][:1])[0]
    similarity, keywords = made(40)
    together = learned.scores(similarity[:5], keywords)
    np.testing.assert_allclose(together[2:3], learned.scores(similarity[2:3], keywords), rtol=1e-5, atol=1e-6)


def test_candidates_that_differ_in_scale_share_raw_scores() -> None:
    ready = queries()
    plain, frequent, lead = ready.learn(
        [
            KeywordRule("vote", 10, sharpness=2.0, scale="lead", power=0.0),
            KeywordRule("vote", 10, sharpness=2.0, scale="frequency", power=0.5),
            KeywordRule("vote", 10, sharpness=2.0, scale="lead", power=1.0),
        ]
    )
    raw = voted(ready.neighbours, ready.keywords, 10, plain.sharpness)
    np.testing.assert_array_equal(plain.raw(ready.similarity, ready.keywords), raw)
    np.testing.assert_allclose(frequent.scaled(raw), raw / np.sqrt(ready.keywords.frequencies), rtol=1e-5)
    # on the scale of leads, images that have a topic's word are 1 above the mean of all, on average
    scaled, own = lead.scaled(raw)[:, :4], ready.keywords.rows[:, :4]
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose((scaled * own).sum(axis=0) / own.sum(axis=0), 1, rtol=1e-3)
    # the two words at random have no lead: a tenth of the median replaces it
    np.testing.assert_allclose(lead.units[4:], 0.1 * np.median(np.r_[lead.units[:4], -1, -1]), rtol=1e-4)


def test_sharpness_is_relative_to_the_contrast() -> None:
    ready = queries()
    doubled = TrainingQueries.of(2 * ready.similarity, ready.keywords, ready.asked)
    first, second = (r.learn([KeywordRule("vote", 9, sharpness=3.0)])[0] for r in (ready, doubled))
    assert doubled.scale == pytest.approx(2 * ready.scale, rel=1e-5)
    np.testing.assert_allclose(
        first.scores(ready.similarity, ready.keywords),
        second.scores(doubled.similarity, ready.keywords),
        rtol=1e-3,
        atol=1e-5,
    )


def test_contrast_of_nothing_to_distinguish_is_one() -> None:
    assert contrast(np.zeros((3, 5), np.float32)) == 1.0
    assert contrast(np.float32([[3, 1, 2]]), depth=2) == 1.0
    assert contrast(np.float32([[5, 1, 2]]), depth=3) == 4.0
    assert contrast(np.float32([[5, -np.inf, 2]]), depth=3) == 3.0, "the query itself is no neighbour"


def test_the_ridge_learns_from_the_queries_alone() -> None:
    similarity, keywords = made(40, seed=5)
    asked = np.arange(0, 40, 2)
    rows = similarity[asked].copy()
    rows[np.arange(20), asked] = -np.inf
    learned = TrainingQueries.of(rows, keywords, asked).learn([KeywordRule("ridge", sharpness=0.5)])[0]
    assert learned.coefficients.shape == (40, 6)
    assert not learned.coefficients[1::2].any()
    assert learned.coefficients[::2].any()


def test_words_that_nobody_has_stay_finite() -> None:
    similarity, keywords = made(30, seed=6)
    np.fill_diagonal(similarity, -np.inf)
    silent = Keywords((*keywords.words, "unheard"), np.pad(keywords.rows, ((0, 0), (0, 1))))
    ready = TrainingQueries.of(similarity, silent, np.arange(30))
    for rule in RULES:
        for learned in ready.learn(CANDIDATES[rule], iterations=5):
            scores = learned.scores(similarity[:3], silent)
            assert np.isfinite(scores).all(), learned


def test_more_neighbours_than_images_are_all_of_them() -> None:
    ready = queries(images=12)
    counted = KeywordRule("count", 400).scores(ready.similarity[:2], ready.keywords)
    np.testing.assert_array_equal(
        counted,
        KeywordRule("count", 12).scores(
            ready.similarity[:2], ready.keywords, find_neighbours(ready.similarity[:2], 12)
        ),
    )


def test_what_is_kept_of_it_is_all_that_is_needed() -> None:
    ready = queries(seed=7)
    similarity, keywords = made(40, seed=7)
    for rule in RULES:
        learned = ready.learn(CANDIDATES[rule][-1:])[0]
        again = KeywordRule(rule, **learned.numbers(), **learned.arrays())
        np.testing.assert_array_equal(again.scores(similarity, keywords), learned.scores(similarity, keywords))


def test_a_rule_that_does_not_exist() -> None:
    with pytest.raises(ConfigError, match="count"):
        KeywordRule("shout")
