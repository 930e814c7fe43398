"""How well suggested keywords fit: precision and recall by word, as the annotation papers report them.

`keyword_table` counts, one row a word; `keyword_scores` sums it up in the four figures P, R, F1 and N+. Both averages
run over all words of the vocabulary, so a frequent word weighs no more than a rare one, and a word that is never
suggested counts with a precision of 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank.types import DataError, require_unique

Words = Mapping[str, Collection[str]]
"""The words of each item."""


@dataclass(frozen=True)
class KeywordScores:
    """P, R and F1 as shares, N+ as a number of words, and how many words no measured item has (their recall is 0)."""

    precision: float
    recall: float
    f1: float
    n_plus: int
    absent: int


def keyword_table(true: Words, predicted: Words, vocabulary: Sequence[str]) -> pd.DataFrame:
    """One row a word: word, true, predicted, correct (numbers of items), precision, recall.

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
    KeywordScores(precision=0.25, recall=0.5, f1=0.3333333333333333, n_plus=1, absent=0)
    """
    table = keyword_table(true, predicted, vocabulary)
    precision, recall = float(table["precision"].mean()), float(table["recall"].mean())
    both = precision + recall
    return KeywordScores(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / both if both else 0.0,
        n_plus=int((table["recall"] > 0).sum()),
        absent=int((table["true"] == 0).sum()),
    )


def _count(words: Words, column: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """In how many items each word of the vocabulary occurs."""
    found = [column[word] for given in words.values() for word in set(given) if word in column]
    return np.bincount(np.array(found, dtype=np.int64), minlength=len(column)).astype(np.int64)
