"""How well suggested keywords fit: precision and recall by word, as the annotation papers report them.

`keyword_table` counts, one row per word; `keyword_scores` sums it up in the four figures P, R, F1 and N+. Both averages
run over all words of the vocabulary, so a frequent word weighs no more than a rare one, and a word that is never
suggested counts with a precision of 0. `row_scores` does both for arrays, and fast. `suggested`
takes an item's words from a method's scores, and `summarise_keywords` puts the tables of several methods into one of
figures with confidence intervals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from numba import njit

from mediarank.types import DataError, FeatureMatrix, require_unique

SUGGESTIONS: Final = 5
"""Words per item, as in the literature on Corel 5K."""

METRICS: Final = ("precision", "recall", "f1", "n_plus")
"""Means over words."""
IMAGE_F1: Final = "image_f1"
"""The mean over images."""
Counts = npt.NDArray[np.int64]
Words = Mapping[str, Collection[str]]
"""The words of each item."""


@dataclass(frozen=True)
class KeywordScores:
    """P, R and F1 as shares, N+ as a number of words, and how many words no measured item has (their recall is 0).

    image_f1 : the mean over images of the F1 of an image's own words
    """

    precision: float
    recall: float
    f1: float
    n_plus: int
    absent: int
    image_f1: float = 0.0


def keyword_table(true: Words, predicted: Words, vocabulary: Sequence[str]) -> pd.DataFrame:
    """One row per word: word, true, predicted, correct (numbers of items), precision, recall.

    Words outside the vocabulary are not measured: to follow the papers on Corel 5K, give the words of the test items.
    """
    require_unique(vocabulary, "words of the vocabulary")
    if not vocabulary:
        raise DataError("The vocabulary is empty; give the words to measure.")
    if true.keys() != predicted.keys():
        odd = sorted(true.keys() ^ predicted.keys())
        raise DataError(
            f"{len(odd)} items have true or predicted keywords but not both, such as {odd[0]}; "
            "give an empty set to an item without words."
        )
    column = {word: number for number, word in enumerate(vocabulary)}
    correct = {item: set(true[item]) & set(words) for item, words in predicted.items()}
    counts = {"true": _count(true, column), "predicted": _count(predicted, column), "correct": _count(correct, column)}
    return pd.DataFrame(
        {
            "word": list(vocabulary),
            **counts,
            "precision": counts["correct"] / np.maximum(counts["predicted"], 1),
            "recall": counts["correct"] / np.maximum(counts["true"], 1),
        }
    )


def keyword_scores(true: Words, predicted: Words, vocabulary: Sequence[str]) -> KeywordScores:
    """Mean precision, mean recall, their harmonic mean, and N+, the number of words with a recall above 0.

    >>> keyword_scores({"a": {"sea"}, "b": {"sky"}}, {"a": {"sea", "sky"}, "b": {"sea"}}, ["sea", "sky"])
    KeywordScores(precision=0.25, recall=0.5, f1=0.3333333333333333, n_plus=1, absent=0, image_f1=0.3333333333333333)
    """
    table = keyword_table(true, predicted, vocabulary)
    counts = (table[name].to_numpy() for name in ("true", "predicted", "correct"))
    return replace(_summed_up(*counts), image_f1=float(image_f1(true, predicted, vocabulary).mean()))


def row_scores(
    true: npt.NDArray[np.floating[Any]], scores: npt.NDArray[np.floating[Any]], count: int = SUGGESTIONS
) -> KeywordScores:
    """The same from (items, words) rows: 0/1 truth, and scores whose `count` highest are the suggestions.

    Words that no item has are not measured.
    """
    occurring = true.any(axis=0)
    if not occurring.any():
        raise DataError("No item has a word; there is nothing to measure.")
    predicted = np.zeros(true.shape, dtype=np.bool_)
    _mark_highest(scores, min(count, scores.shape[1]), predicted)
    right = predicted & (true > 0)
    counts = true.sum(axis=0), predicted.sum(axis=0), right.sum(axis=0)
    both = (true[:, occurring] > 0).sum(axis=1) + predicted[:, occurring].sum(axis=1)
    per_image = 2 * right[:, occurring].sum(axis=1) / np.maximum(both, 1)
    words = _summed_up(*(values[occurring].astype(np.int64) for values in counts))
    return replace(words, image_f1=float(per_image.mean()))


def image_f1(true: Words, predicted: Words, vocabulary: Sequence[str]) -> npt.NDArray[np.float64]:
    """F1 of each image's words, in the order of `true`: what a person sees who looks at one image.

    >>> image_f1({"a": {"sea", "sky"}}, {"a": {"sea", "sun"}}, ["sea", "sky", "sun"]).tolist()
    [0.5]
    """
    known = set(vocabulary)
    found = []
    for item, words in true.items():
        own, given = set(words) & known, set(predicted[item]) & known
        found.append(2 * len(own & given) / max(len(own) + len(given), 1))
    return np.array(found)


def _summed_up(true: Counts, predicted: Counts, correct: Counts) -> KeywordScores:
    precision = float((correct / np.maximum(predicted, 1)).mean())
    recall = float((correct / np.maximum(true, 1)).mean())
    both = precision + recall
    return KeywordScores(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / both if both else 0.0,
        n_plus=int((correct > 0).sum()),
        absent=int((true == 0).sum()),
    )


def suggested(scores: FeatureMatrix, count: int = SUGGESTIONS) -> dict[str, list[str]]:
    """item -> its words with the highest scores, best first; of equal ones the earlier in the vocabulary."""
    order = np.argsort(-scores.values, axis=1, kind="stable")[:, :count]
    return {item: [scores.names[w] for w in row] for item, row in zip(scores.ids.tolist(), order.tolist(), strict=True)}


def summarise_keywords(
    tables: Mapping[str, pd.DataFrame],
    *,
    seed: int,
    resamples: int = 2000,
    confidence: float = 0.95,
    images: Mapping[str, npt.NDArray[np.float64]] | None = None,
) -> pd.DataFrame:
    """method, metric, mean, low, high, queries, skipped: precision, recall, f1 and n_plus of each method's table.

    Intervals are percentiles of a bootstrap over words, the same draws for every method; `queries` counts words.
    images : method -> F1 of each image, which adds `image_f1`, with a bootstrap over images
    """
    rows = []
    for method, table in tables.items():
        values = table[["precision", "recall"]].to_numpy(dtype=np.float64)
        drawn = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
        sampled = _figures(values[drawn])
        bounds = np.quantile(sampled, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        for metric, mean, low, high in zip(METRICS, _figures(values[None])[0], *bounds, strict=True):
            rows.append((method, metric, float(mean), float(low), float(high), len(values), 0))
        if images is not None:
            own = images[method]
            drawn = np.random.default_rng(seed).integers(len(own), size=(resamples, len(own)))
            low, high = np.quantile(own[drawn].mean(axis=1), [(1 - confidence) / 2, (1 + confidence) / 2])
            rows.append((method, IMAGE_F1, float(own.mean()), float(low), float(high), len(own), 0))
    return pd.DataFrame(rows, columns=["method", "metric", "mean", "low", "high", "queries", "skipped"])


def _figures(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(samples, 4) figures, as in METRICS, of (samples, words, 2) precisions and recalls."""
    precision, recall = values.mean(axis=1).T
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return np.stack([precision, recall, f1, (values[:, :, 1] > 0).sum(axis=1)], axis=1)


def _count(words: Words, column: Mapping[str, int]) -> Counts:
    """In how many items each word of the vocabulary occurs."""
    found = [column[word] for given in words.values() for word in set(given) if word in column]
    return np.bincount(np.array(found, dtype=np.int64), minlength=len(column)).astype(np.int64)


@njit(cache=True, nogil=True)
def _mark_highest(scores: Any, count: int, marked: Any) -> None:
    """Mark the `count` highest of each row; of equal ones the earlier."""
    best = np.zeros(count, dtype=np.int64)
    for row in range(scores.shape[0]):
        found = 0
        for word in range(scores.shape[1]):
            place = found
            while place > 0 and scores[row, word] > scores[row, best[place - 1]]:
                if place < count:
                    best[place] = best[place - 1]
                place -= 1
            if place < count:
                best[place] = word
                found = min(found + 1, count)
        for place in range(found):
            marked[row, best[place]] = True
