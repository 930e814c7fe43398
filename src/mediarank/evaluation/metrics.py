"""Ranking metrics: functions `(y_true, y_score, *, k=None) -> float` of one query, never of a model.

First the public functions, then `measure`, which gives the same metrics for every query of a `Ranks` at once, and
last the formulas, one per metric, over the ranks of the relevant items. Both use the same formula. Two rules
hold for all: items come in the order of their ids, which breaks ties (see `ranks`), and a query without relevant
items has no value: it is NaN, and `mean_over_queries` leaves it out and counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.ranks import Ranks
from mediarank.types import ConfigError, Doubles

Formula = Callable[[Ranks, int | None], Doubles]


def average_precision(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None) -> float:
    """`AP = (1/TP) Σ_d (TP_d/d) I_d` over the first k ranks; TP counts all relevant items, found or not.

    >>> average_precision([1, 0, 1], [0.9, 0.8, 0.7])
    0.8333333333333333
    """
    return _one(_average_precision, y_true, y_score, k)


def precision_at(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None) -> float:
    """Share of the first k ranks that is relevant; ranks beyond the end of the list count as irrelevant.

    >>> precision_at([1, 0, 1], [0.9, 0.8, 0.7], k=2)
    0.5
    """
    return _one(_precision, y_true, y_score, k)


def recall_at(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None) -> float:
    """Share of all relevant items that is among the first k ranks.

    >>> recall_at([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.6], k=1)
    0.3333333333333333
    """
    return _one(_recall, y_true, y_score, k)


def ndcg(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None, exponential: bool = False) -> float:
    """Discounted cumulative gain, `Σ g(r_d) / log2(1 + d)`, relative to that of the best order.

    exponential : the gain of grade r is `2^r - 1` instead of r; for grades 0 and 1 they are the same

    >>> ndcg([0, 1], [0.9, 0.8])
    0.6309297535714575
    """
    return _one(_ndcg_exponential if exponential else _ndcg, y_true, y_score, k)


def best_f1(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None) -> float:
    """The highest F1 that any cut among the first k ranks reaches.

    >>> best_f1([0, 1, 1], [0.9, 0.8, 0.7])
    0.8
    """
    return _one(_best_f1, y_true, y_score, k)


def reciprocal_rank(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, k: int | None = None) -> float:
    """One over the rank of the first relevant item, or 0 if it is beyond rank k.

    >>> reciprocal_rank([0, 1, 1], [0.9, 0.8, 0.7])
    0.5
    """
    return _one(_reciprocal_rank, y_true, y_score, k)


def roc_auc(y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> float:
    """Share of (relevant, irrelevant) pairs in the right order; NaN too if nothing is irrelevant.

    A helper, for comparison with work that reports it. It hides what matters in a rare class: two positives at ranks
    6 and 7 of 101 have an AUC of .949 and an average precision of .226.
    """
    return _one(_roc_auc, y_true, y_score, None)


@dataclass(frozen=True)
class Metric:
    """A metric as tables name it: `ap`, `ap@100`, `ndcg@50` …"""

    name: str
    formula: Formula
    k: int | None

    @classmethod
    def named(cls, name: str) -> Metric:
        base, at, depth = name.partition("@")
        if base not in METRICS or (at and not (depth.isdecimal() and int(depth) > 0)):
            raise ConfigError(f"There is no metric {name!r}; use {', '.join(METRICS)}, each alone or as in ap@100.")
        return cls(name, METRICS[base], int(depth) if at else None)


def measure(ranks: Ranks, name: str) -> Doubles:
    """The metric of every query, (queries,), with NaN where nothing is relevant."""
    metric = Metric.named(name)
    return _defined(metric.formula, ranks, metric.k)


def chance_precision(relevant: npt.ArrayLike, candidates: npt.ArrayLike) -> Doubles:
    """The mean average precision over all orders of `candidates` items of which `relevant` are relevant.

    >>> chance_precision([1, 2], [2, 2]).tolist()
    [0.75, 1.0]
    """
    r, n = np.asarray(relevant, dtype=np.float64), np.asarray(candidates, dtype=np.float64)
    harmonic = np.array([np.sum(1 / np.arange(1, count + 1)) for count in n.astype(int).tolist()])
    return np.asarray((harmonic + (r - 1) / np.maximum(n - 1, 1) * (n - harmonic)) / n)


def mean_over_queries(values: npt.ArrayLike) -> tuple[float, int]:
    """Mean of the queries that have a value, and how many have none; NaN if none has one."""
    numbers = np.asarray(values, dtype=np.float64)
    known = numbers[~np.isnan(numbers)]
    return (float(known.mean()) if len(known) else float("nan")), int(numbers.size - known.size)


def _one(formula: Formula, y_true: npt.ArrayLike, y_score: npt.ArrayLike, k: int | None) -> float:
    if k is not None and k < 1:
        raise ConfigError(f"k must be a rank from 1 up, or None for the whole list, not {k}.")
    return float(_defined(formula, Ranks.of_query(y_true, y_score), k)[0])


def _defined(formula: Formula, ranks: Ranks, k: int | None) -> Doubles:
    """The formula's values, with the rule for empty queries: the only place where it is decided."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = formula(ranks, k)
    return np.where(ranks.total > 0, values, np.nan)


def _inside(ranks: Ranks, k: int | None) -> npt.NDArray[np.bool_]:
    return ranks.ranks <= (np.inf if k is None else k)


def _average_precision(ranks: Ranks, k: int | None) -> Doubles:
    return ranks.sums(_inside(ranks, k) * (ranks.position / ranks.ranks)) / ranks.total


def _precision(ranks: Ranks, k: int | None) -> Doubles:
    return ranks.sums(_inside(ranks, k)) / (ranks.candidates if k is None else k)


def _recall(ranks: Ranks, k: int | None) -> Doubles:
    return ranks.sums(_inside(ranks, k)) / ranks.total


def _linear(grades: Doubles) -> Doubles:
    return grades


def _power(grades: Doubles) -> Doubles:
    return np.exp2(grades) - 1.0


def _discounted_gain(ranks: Ranks, k: int | None, gain: Callable[[Doubles], Doubles]) -> Doubles:
    reached = ranks.sums(_inside(ranks, k) * gain(ranks.grades) / np.log2(1.0 + ranks.ranks))
    within = ranks.position <= (np.inf if k is None else k)
    ideal = ranks.sums(within * gain(ranks.ideal_grades) / np.log2(1.0 + ranks.position))
    return reached / ideal


def _ndcg(ranks: Ranks, k: int | None) -> Doubles:
    return _discounted_gain(ranks, k, _linear)


def _ndcg_exponential(ranks: Ranks, k: int | None) -> Doubles:
    return _discounted_gain(ranks, k, _power)


def _best_f1(ranks: Ranks, k: int | None) -> Doubles:
    """At a cut after rank d, `F1 = 2 TP_d / (d + TP)`; between two relevant items it only falls."""
    f1 = _inside(ranks, k) * 2.0 * ranks.position / (ranks.ranks + ranks.total[ranks.query])
    best = np.zeros(len(ranks))
    np.maximum.at(best, ranks.query, f1)
    return best


def _reciprocal_rank(ranks: Ranks, k: int | None) -> Doubles:
    return ranks.sums(((ranks.position == 1) & _inside(ranks, k)) / ranks.ranks)


def _roc_auc(ranks: Ranks, k: int | None) -> Doubles:
    """A relevant item at rank d, the i-th of its kind, has d - i irrelevant ones before it."""
    irrelevant = ranks.candidates - ranks.total
    misplaced = ranks.sums(ranks.ranks - ranks.position)
    return 1.0 - misplaced / (ranks.total * irrelevant)


METRICS: Final[Mapping[str, Formula]] = {
    "ap": _average_precision,
    "p": _precision,
    "r": _recall,
    "ndcg": _ndcg,
    "ndcg_exp": _ndcg_exponential,
    "f1": _best_f1,
    "rr": _reciprocal_rank,
}
"""Every metric by its short name; `name@k` looks at the first k ranks only."""
