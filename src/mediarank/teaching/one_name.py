"""Learn one name in seconds: a ridge classifier on kept features, with scores from cross-validation beside it.

`Space` holds the features of all items, standardised once. `learn_name` fits one name: positives count as much as all
negatives together, items of which nothing is said count as weak negatives, and groups of near-duplicates stay in one
fold. `learn_order` does the same for ordered pairs. Several feature types are fitted one by one and their standardised
scores are added. Everything is a pure function of arrays, labels and a seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.metrics import average_precision
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

Rows = npt.NDArray[np.intp]
FOLDS: Final = 5
STRENGTHS: Final = (0.0003, 0.001, 0.005)
"""Ridge strengths to choose from, relative to the mean squared length of a standardised row."""
MOST_NEGATIVES: Final = 3000
"""Items that stand for all those of which nothing is said."""
NAMED: Final = 3.0
"""How much more an item that is said not to show the name counts than one of which nothing is said."""


@dataclass(frozen=True, eq=False)
class Space:
    """Items as the learner sees them.

    ids : sorted
    parts : feature type -> (items, dimensions) standardised values; a row of zeros where an item lacks the type
    groups : (items,) numbers; items of one group look the same and stay in one fold
    """

    ids: tuple[str, ...]
    parts: Mapping[str, Floats]
    groups: Rows

    @classmethod
    def of(cls, matrices: Mapping[str, FeatureMatrix], groups: Mapping[str, str] | None = None) -> Space:
        """matrices : one row per item; groups : item -> its group, by default each item is alone"""
        if not matrices:
            raise DataError("There is no feature type with one row per item to learn on. Run `dvc repro`.")
        ids = tuple(sorted(set().union(*(matrix.ids.tolist() for matrix in matrices.values()))))
        place = {item: k for k, item in enumerate(ids)}
        parts = {}
        for name, matrix in matrices.items():
            rows = np.zeros((len(ids), len(matrix.names)), np.float32)
            rows[[place[item] for item in matrix.ids.tolist()]] = standardised(np.asarray(matrix.values))
            parts[name] = rows
        named = [(groups or {}).get(item, item) for item in ids]
        return cls(ids, parts, np.unique(named, return_inverse=True)[1].astype(np.intp))

    @cached_property
    def place(self) -> dict[str, int]:
        return {item: k for k, item in enumerate(self.ids)}

    def rows(self, items: Sequence[str] | set[str] | frozenset[str]) -> Rows:
        """Where items stand; those that are not here are left out."""
        return np.array(sorted(self.place[item] for item in items if item in self.place), dtype=np.intp)


def standardised(values: Floats) -> Floats:
    """Columns with mean 0 and deviation 1, then rows scaled so that their mean squared length is 1."""
    values = np.asarray(values, np.float32)
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 1e-9, spread, 1).astype(np.float32)
    return np.asarray(scaled / np.float32(np.sqrt(max(values.shape[1], 1))), np.float32)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of one name.

    scores : (items,) of the classifier that saw all labels
    out_of_fold : (items,) of classifiers that did not see the item's fold
    ap : of out_of_fold, over all items; NaN with fewer than two groups of positives
    strength : the ridge that was chosen
    weights : feature type -> weights, the bias last
    """

    scores: Doubles
    out_of_fold: Doubles
    ap: float
    strength: float
    weights: Mapping[str, Floats]
    positives: int
    negatives: int


def learn_name(
    space: Space,
    yes: Rows,
    no: Rows,
    seed: int,
    strengths: Sequence[float] = STRENGTHS,
    fold_of: Rows | None = None,
    truth: Rows | None = None,
) -> Learned:
    """Fit one name.

    yes, no : rows that show it and that are said not to; of the others nothing is said
    fold_of : (items,) folds, by default dealt here
    truth : the rows that count as relevant in the average precision, by default `yes`
    """
    if not len(yes):
        raise DataError("There is no positive item to learn from; say which items show the name.")
    folds = deal_name_folds(space.groups, yes, seed) if fold_of is None else fold_of
    weights = _costs(len(space.ids), yes, no, seed)
    goal = np.full(len(space.ids), -1.0, np.float32)
    goal[yes] = 1.0
    relevant = np.zeros(len(space.ids))
    relevant[yes if truth is None else truth] = 1
    best: tuple[float, float, Doubles, dict[str, Floats]] | None = None
    fits = {name: _FoldedRidge(rows, goal, weights, folds) for name, rows in space.parts.items()}
    measurable = len(np.unique(space.groups[yes])) > 1
    for strength in strengths if measurable else strengths[-1:]:
        held = _added([fit.out_of_fold(strength) for fit in fits.values()])
        ap = average_precision(relevant, held) if measurable else float("nan")
        if best is None or ap > best[0]:
            best = (ap, strength, held, {})
    assert best is not None  # noqa: S101 - there is at least one strength
    ap, strength, held, _ = best
    learned = {name: fit.weights(strength) for name, fit in fits.items()}
    scores = apply_weights(space, learned)
    return Learned(scores, held, ap, strength, learned, len(yes), len(no))


def apply_weights(space: Space, weights: Mapping[str, Floats]) -> Doubles:
    """Scores of all items."""
    return _added([space.parts[name] @ w[:-1] + w[-1] for name, w in weights.items()])


def learn_order(space: Space, more: Rows, less: Rows, seed: int, strengths: Sequence[float] = STRENGTHS) -> Learned:
    """Fit an attribute from pairs: each row of `more` has more of it than the same place of `less`.

    `ap` is here the share of pairs in the right order by classifiers that saw neither of their items' folds.
    """
    if not len(more):
        raise DataError("There is no ordered pair to learn from; say which of two items has more of the attribute.")
    order = np.random.default_rng(seed).permutation(int(space.groups.max()) + 1)
    folds = (order % FOLDS)[space.groups]
    best: tuple[float, float, Doubles] | None = None
    for strength in strengths:
        held = np.zeros(len(space.ids))
        right = []
        for fold in range(FOLDS):
            outside = (folds[more] != fold) & (folds[less] != fold)
            inside = (folds[more] == fold) & (folds[less] == fold)
            if not outside.any():
                continue
            scores = _added(
                [r @ _order_weights(r, more[outside], less[outside], strength) for r in space.parts.values()]
            )
            held[folds == fold] = scores[folds == fold]
            right += (scores[more[inside]] > scores[less[inside]]).tolist()
        accuracy = float(np.mean(right)) if right else float("nan")
        if best is None or accuracy > best[0]:
            best = (accuracy, strength, held)
    assert best is not None  # noqa: S101 - there is at least one strength
    weights = {
        name: np.append(_order_weights(rows, more, less, best[1]), np.float32(0)) for name, rows in space.parts.items()
    }
    return Learned(apply_weights(space, weights), best[2], best[0], best[1], weights, len(more), 0)


def _order_weights(rows: Floats, more: Rows, less: Rows, strength: float) -> Floats:
    """Ridge on differences whose goal is 1."""
    difference = rows[more] - rows[less]
    gram = difference.T @ difference / len(difference)
    return _solve(gram, difference.mean(axis=0), strength)


def deal_name_folds(groups: Rows, yes: Rows, seed: int, count: int = FOLDS) -> Rows:
    """(items,) folds by group; groups with positives are spread evenly."""
    rng = np.random.default_rng(seed)
    folds = rng.permutation(int(groups.max(initial=-1)) + 1) % count
    bearing = rng.permutation(np.unique(groups[yes]))
    folds[bearing] = np.arange(len(bearing)) % count
    return np.asarray(folds[groups], np.intp)


def _costs(count: int, yes: Rows, no: Rows, seed: int) -> Floats:
    """What an error costs, by item: positives 1 together, negatives 1 together.

    A negative that was named costs NAMED times one of which nothing is said, all of them together at most half. As
    many as MOST_NEGATIVES stand for the items of which nothing is said.
    """
    costs = np.zeros(count, np.float32)
    silent = np.ones(count, bool)
    silent[yes] = silent[no] = False
    others = np.flatnonzero(silent)
    if len(others) > MOST_NEGATIVES:
        others = np.random.default_rng(seed).choice(others, MOST_NEGATIVES, replace=False)
    named = min(0.5, NAMED * len(no) / (NAMED * len(no) + len(others))) if len(others) else 1.0
    costs[yes] = 1 / len(yes)
    if len(no):
        costs[no] = named / len(no)
    if len(others):
        costs[others] = (1 - named) / len(others)
    return costs


class _FoldedRidge:
    """Weighted ridge regression for all folds at once: the products of each fold are made once."""

    def __init__(self, rows: Floats, goal: Floats, costs: Floats, folds: Rows) -> None:
        self._rows, self._folds = rows, folds
        self._grams, self._goals, self._sums, self._totals = [], [], [], []
        for fold in range(int(folds.max()) + 1):
            used = np.flatnonzero((folds == fold) & (costs > 0))
            x, c, y = rows[used], costs[used], goal[used]
            weighted = x * c[:, None]
            self._grams.append(weighted.T @ x)
            self._goals.append(weighted.T @ y)
            self._sums.append(weighted.sum(axis=0))
            self._totals.append((float(c.sum()), float((c * y).sum())))

    def weights(self, strength: float, without: int | None = None) -> Floats:
        """The weights, the bias last, fitted on all folds but one."""
        kept = [k for k in range(len(self._grams)) if k != without]
        total, goal_total = (sum(self._totals[k][part] for k in kept) for part in (0, 1))
        if not total:
            return np.zeros(self._rows.shape[1] + 1, np.float32)
        gram = np.sum([self._grams[k] for k in kept], axis=0)
        mean = np.sum([self._sums[k] for k in kept], axis=0) / total
        aim = np.sum([self._goals[k] for k in kept], axis=0)
        centred = gram / total - np.outer(mean, mean)
        w = _solve(centred, aim / total - mean * (goal_total / total), strength)
        return np.append(w, np.float32(goal_total / total - mean @ w))

    def out_of_fold(self, strength: float) -> Doubles:
        """Scores by the weights that did not see the item's fold, on one scale for all folds."""
        held = np.zeros(len(self._rows))
        for fold in range(len(self._grams)):
            w = self.weights(strength, fold)
            scores = self._rows @ w[:-1] + w[-1]
            mine = self._folds == fold
            # Folds saw different positives, so their scores differ in location and scale.
            held[mine] = (scores[mine] - scores.mean()) / max(float(scores.std()), 1e-9)
        return held


def _solve(gram: npt.NDArray[Any], aim: npt.NDArray[Any], strength: float) -> Floats:
    """`(gram + λI)⁻¹ aim`, with λ relative to the gram's trace times its dimension."""
    from scipy.linalg import cho_factor, cho_solve

    scale = float(np.trace(gram)) or 1.0
    ridged = np.array(gram, np.float32)
    ridged[np.diag_indices_from(ridged)] += np.float32(strength * scale)
    return np.asarray(cho_solve(cho_factor(ridged, overwrite_a=True), np.asarray(aim, np.float32)), np.float32)


def _added(scores: Sequence[npt.NDArray[Any]]) -> Doubles:
    """The sum of standardised scores; one alone stays as it is."""
    if len(scores) == 1:
        return np.asarray(scores[0], np.float64)
    return np.asarray(np.sum([(s - s.mean()) / max(float(s.std()), 1e-9) for s in scores], axis=0, dtype=np.float64))
