"""The sum of several methods' scores, each divided by its deviation: which methods, is chosen by cross-validation.

Starting from the method that does best on held-out training images, the one that helps most is added, as long as one
does. Every method's held-out scores come from the same folds, so nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mediarank.evaluation.keywords import KeywordScores, row_scores
from mediarank.systems.annotation.config import Aim
from mediarank.systems.annotation.methods import mean_scores
from mediarank.types import Floats


@dataclass(frozen=True)
class Average:
    """of : the methods; units : what each one's scores are divided by; scores : on held-out images"""

    of: tuple[str, ...]
    units: tuple[float, ...]
    scores: KeywordScores


def choose_average(held_out: Mapping[str, Sequence[Floats]], true: Sequence[Floats], words: int, aim: Aim) -> Average:
    """The methods that do best together.

    held_out : method -> scores (images, words) of each fold's held-out images; true : their keyword rows
    words : suggested per image
    """
    unit = {name: max(float(np.concatenate(scores).std()), 1e-12) for name, scores in held_out.items()}

    def measured(total: Sequence[Floats]) -> KeywordScores:
        return mean_scores([row_scores(rows, scores, words) for rows, scores in zip(true, total, strict=True)])

    def added(total: Sequence[Floats], name: str) -> list[Floats]:
        return [one + other / unit[name] for one, other in zip(total, held_out[name], strict=True)]

    of: list[str] = []
    total: Sequence[Floats] = [np.zeros_like(rows) for rows in true]
    best = KeywordScores(0.0, 0.0, 0.0, 0, 0, 0.0)
    while len(of) < len(held_out):
        tried = {name: measured(added(total, name)) for name in held_out if name not in of}
        name = max(tried, key=lambda one: float(getattr(tried[one], aim)))
        if of and getattr(tried[name], aim) <= getattr(best, aim):
            break
        of.append(name)
        total, best = added(total, name), tried[name]
    return Average(tuple(of), tuple(unit[name] for name in of), best)
