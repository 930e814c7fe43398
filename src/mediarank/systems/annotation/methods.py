"""How the methods of `annotation` are fitted and their numbers chosen.

`fit_methods` chooses by cross-validation over training images: in each fold a ranker is fitted to the other images
alone and every candidate rule is measured on the held-out ones; then the ranker is fitted to all of them. Precision is
easily traded for recall at an equal F1, so of the candidates within a standard error of the highest F1, the one with
the highest min(precision, recall) is chosen. The scores of held-out images are kept: `average.py` combines them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mediarank.evaluation.keywords import METRICS, KeywordScores, row_scores
from mediarank.fanout import share_out
from mediarank.learners.neighbours.keyword_scores import CANDIDATES, DEEPEST, KeywordRule, TrainingQueries
from mediarank.learners.neighbours.neighbour_rankers import NeighbourRanker
from mediarank.learners.neighbours.neighbour_votes import find_neighbours
from mediarank.systems.annotation.config import METHODS, Aim, Config
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.systems.annotation.rankers import RANKERS
from mediarank.types import Floats

_NONE: Floats = np.zeros(0, np.float32)
Result = tuple[KeywordScores, KeywordRule, Floats]
"""How a candidate does on the held-out images of a fold: its scores, its rule there, and the raw scores of words."""


@dataclass(frozen=True)
class Tried:
    """What cross-validation tried: settings of the ranker, a rule, and their results on held-out images.

    error : the standard error of F1 over the folds; by_fold : the results of each
    held_out : per fold its rule and the raw scores of its held-out images
    """

    settings: Mapping[str, int]
    rule: KeywordRule
    scores: KeywordScores
    error: float = 0.0
    by_fold: Sequence[KeywordScores] = field(default=(), repr=False)
    held_out: Sequence[tuple[KeywordRule, Floats]] = field(default=(), repr=False)

    def held_out_scores(self) -> list[Floats]:
        """The scores (images, words) of each fold's held-out images."""
        return [rule.scaled(raw) for rule, raw in self.held_out]


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A fitted method: its ranker and its rule, the results they were chosen for, and what else was tried."""

    ranker: NeighbourRanker
    rule: KeywordRule
    chosen: Tried
    tried: Sequence[Tried]


def fit_methods(labelled: Labelled, methods: Sequence[str], config: Config) -> dict[str, FittedMethod]:
    """Every method, with the settings and the rule that suggest words best for held-out training images."""
    fitted: dict[str, FittedMethod] = {}
    whole = Part.outside(labelled, None)
    by_ranker: dict[str, list[str]] = {}
    for method in methods:
        by_ranker.setdefault(METHODS[method].ranker, []).append(method)
    tried = _cross_validated(labelled, {name: _candidates(own) for name, own in by_ranker.items()}, config)
    for name, own in by_ranker.items():
        rankers: dict[tuple[int, ...], tuple[NeighbourRanker, TrainingQueries]] = {}
        for method in own:
            eligible = [found for found in tried[name] if found.rule.kind in METHODS[method].rules]
            chosen = choose(eligible, METHODS[method].aim)
            key = tuple(chosen.settings.values())
            if key not in rankers:
                [(_, ranker)] = RANKERS[name](whole, config.with_only(chosen.settings), False)
                rankers[key] = ranker, TrainingQueries.of(whole.similarity(ranker), whole.keywords, whole.asked())
            ranker, queries = rankers[key]
            [rule] = queries.learn([chosen.rule], config.tagprop_iterations)
            fitted[method] = FittedMethod(ranker, rule, chosen, eligible)
    return {method: fitted[method] for method in methods}


def folds_of(labelled: Labelled) -> list[int]:
    """The folds of the cross-validation; one that holds out no word is left out."""
    with_words = labelled.asked[labelled.keywords.rows[labelled.asked].any(axis=1)]
    folds: list[int] = np.unique(labelled.fold_of[with_words]).tolist()
    return folds


def _candidates(methods: Sequence[str]) -> list[KeywordRule]:
    """The rules that some methods of one ranker try, each once."""
    rules = dict.fromkeys(rule for method in methods for rule in METHODS[method].rules)
    return [candidate for rule in rules for candidate in CANDIDATES[rule]]


def choose(tried: Sequence[Tried], aim: Aim = "f1") -> Tried:
    """The most balanced of those within a standard error of the highest F1; among equals the first.

    For images there is nothing to balance: the one with the highest F1 of an image's words.
    """
    if aim == "image_f1":
        return max(tried, key=lambda found: found.scores.image_f1)
    best = max(tried, key=lambda found: found.scores.f1)
    as_good = [found for found in tried if found.scores.f1 >= best.scores.f1 - best.error]
    return max(as_good, key=lambda found: min(found.scores.precision, found.scores.recall))


def _cross_validated(
    labelled: Labelled, candidates: Mapping[str, Sequence[KeywordRule]], config: Config
) -> dict[str, list[Tried]]:
    """Every option of every ranker with its candidate rules, measured on the held-out images of each fold.

    On this machine one fold follows another: kernels inside use all cores, and two folds would need more memory.

    candidates : ranker -> its rules
    """
    by_fold = share_out(partial(_of_fold, labelled, candidates, config), folds_of(labelled), threads=1)
    tried: dict[str, list[Tried]] = {name: [] for name in candidates}
    for name, rules in candidates.items():
        for options in zip(*(found[name] for found in by_fold), strict=True):
            settings, _ = options[0]
            for rule, results in zip(rules, zip(*(results for _, results in options), strict=True), strict=True):
                kept = [(learned, raw) for _, learned, raw in results]
                tried[name].append(tried_on([scores for scores, _, _ in results], settings, rule, kept))
    return tried


def _of_fold(
    labelled: Labelled, candidates: Mapping[str, Sequence[KeywordRule]], config: Config, fold: int
) -> dict[str, list[tuple[dict[str, int], list[Result]]]]:
    """Ranker -> each of its options, by its settings, with the results of its candidate rules.

    All rankers of a fold together, because some are built on others (`Part.fitted`).
    """
    part = Part.outside(labelled, fold)
    return {
        name: [
            (settings, _held_out(part, ranker, rules, config)) for settings, ranker in RANKERS[name](part, config, True)
        ]
        for name, rules in candidates.items()
    }


def tried_on(
    by_fold: Sequence[KeywordScores],
    settings: Mapping[str, int],
    rule: KeywordRule,
    held_out: Sequence[tuple[KeywordRule, Floats]] = (),
) -> Tried:
    """What the folds say of a setting."""
    error = _standard_error([scores.f1 for scores in by_fold])
    return Tried(settings, rule, mean_scores(by_fold), error, by_fold, held_out)


def _held_out(part: Part, ranker: NeighbourRanker, candidates: Sequence[KeywordRule], config: Config) -> list[Result]:
    """How each candidate does on images that neither the ranker nor the rule has learned from, with raw scores."""
    queries = TrainingQueries.of(part.similarity(ranker), part.keywords, part.asked())
    similarity = part.similarity(ranker, held_out=True)
    neighbours = find_neighbours(similarity, DEEPEST)
    raw: dict[tuple[Any, ...], Floats] = {}  # candidates that differ in scale only share their raw scores
    results = []
    for rule in queries.learn(candidates, config.tagprop_iterations):
        key = rule.raw_key()
        if key not in raw:
            raw[key] = rule.raw(similarity, part.keywords, neighbours)
        scores = row_scores(part.true, rule.scaled(raw[key]), config.words)
        results.append((scores, replace(rule, coefficients=_NONE), raw[key]))  # to scale, coefficients are not needed
    return results


def mean_scores(scores: Sequence[KeywordScores]) -> KeywordScores:
    """The mean of each figure over folds."""
    means = {name: float(np.mean([getattr(s, name) for s in scores])) for name in (*METRICS, "absent", "image_f1")}
    return KeywordScores(
        means["precision"],
        means["recall"],
        means["f1"],
        round(means["n_plus"]),
        round(means["absent"]),
        means["image_f1"],
    )


def _standard_error(values: Sequence[float]) -> float:
    """The standard error of their mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
