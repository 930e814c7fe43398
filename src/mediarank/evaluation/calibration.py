"""Scores that mean something: probabilities per name, a cut-off by a stated aim, and how many items show a name.

`fit_calibration` turns scores into probabilities with one sigmoid per name, fitted on held-out items. A name with few
positives determines its own sigmoid poorly, so each sigmoid is drawn towards the one that all names share (the
prior). `best_cut` chooses a cut-off by expected F1 or by a required precision, `estimate_count` says how many items
show the name, with an interval, and `calibration_error` measures how far probabilities are from frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.types import ConfigError, DataError, Doubles, Floats

Flags = npt.NDArray[np.bool_]
SLOPE_SPREAD: Final = 0.35
"""How much slopes differ between names, relative to the shared slope: the prior's standard deviation."""
OFFSET_SPREAD: Final = 0.7
"""The same for offsets, in log-odds."""
DRAWS: Final = 400
"""Sigmoids drawn per interval."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """One sigmoid per name: `P = 1 / (1 + exp(−(slope · (score − centre) / scale + offset)))`.

    centre, scale : (names,) of the held-out scores
    slope, offset : (names,)
    covariance : (names, 2, 2) how unsure slope and offset are
    positives : (names,) held-out items that show the name
    """

    names: tuple[str, ...]
    centre: Doubles
    scale: Doubles
    slope: Doubles
    offset: Doubles
    covariance: Doubles
    positives: npt.NDArray[np.int64]

    def probabilities(self, scores: npt.ArrayLike, names: Sequence[str] | None = None) -> Doubles:
        """(items, names) probabilities, from scores of the same shape."""
        from scipy.special import expit  # slow to import

        places = self._places(names)
        z = (np.asarray(scores, np.float64) - self.centre[places]) / self.scale[places]
        return np.asarray(expit(z * self.slope[places] + self.offset[places]))

    def draws(self, name: str, scores: npt.ArrayLike, rng: np.random.Generator, count: int = DRAWS) -> Floats:
        """(draws, items) probabilities by sigmoids drawn from the posterior of the held-out items."""
        from scipy.special import expit  # slow to import

        (k,) = self._places([name])
        z = ((np.asarray(scores, np.float64) - self.centre[k]) / self.scale[k]).astype(np.float32)
        drawn = rng.multivariate_normal([self.slope[k], self.offset[k]], self.covariance[k], size=count)
        # Single precision and in place: draws × items values are what an estimate takes its time for.
        slopes, offsets = np.maximum(drawn[:, :1], 0).astype(np.float32), drawn[:, 1:].astype(np.float32)
        found = slopes * z
        found += offsets
        return np.asarray(expit(found, out=found))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _places(self, names: Sequence[str] | None) -> npt.NDArray[np.intp]:
        if names is None:
            return np.arange(len(self.names))
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise DataError(f"{unknown[0]!r} has no calibration. Run `dvc repro` to make it.")
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    def to_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """For npz."""
        kept = ("centre", "scale", "slope", "offset", "covariance", "positives")
        return {"names": np.array(self.names, dtype=str), **{name: getattr(self, name) for name in kept}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Calibration:
        own = {name: np.asarray(arrays[name]) for name in cls.__dataclass_fields__ if name != "names"}
        return cls(names=tuple(np.asarray(arrays["names"]).tolist()), **own)


def fit_calibration(scores: npt.ArrayLike, labels: npt.ArrayLike, names: Sequence[str]) -> Calibration:
    """Fit one sigmoid per name on held-out items.

    scores, labels : (items, names), labels as 0 and 1
    """
    from scipy.special import logit

    s, y = np.asarray(scores, np.float64), np.asarray(labels) > 0
    if s.shape != y.shape or s.ndim != 2 or s.shape[1] != len(names):
        raise DataError(f"Scores of shape {s.shape} and labels of shape {y.shape} don't fit {len(names)} names.")
    if not len(s):
        raise DataError(
            "There are no held-out items to calibrate on; give `valid` a share under splits in params.yaml."
        )
    centre, scale = s.mean(axis=0), s.std(axis=0)
    scale = np.where(scale > 1e-12, scale, 1.0)
    z = (s - centre) / scale
    # Add half a positive and half a negative, so that a name without positives has a finite prevalence.
    prevalence = logit((y.sum(axis=0) + 0.5) / (len(y) + 1))
    shared, shift = _shared(z, y, prevalence)
    prior = np.column_stack([np.full(len(names), shared), prevalence + shift])
    spread = np.array([max(SLOPE_SPREAD * shared, 0.05), OFFSET_SPREAD])
    fitted = [_penalised(z[:, k], y[:, k], prior[k], spread) for k in range(len(names))]
    found = np.array([parameters for parameters, _ in fitted]).reshape(len(names), 2)
    covariance = np.array([unsure for _, unsure in fitted]).reshape(len(names), 2, 2)
    return Calibration(
        tuple(names), centre, scale, np.maximum(found[:, 0], 0.0), found[:, 1], covariance,
        y.sum(axis=0).astype(np.int64),
    )  # fmt: skip


def _shared(z: Doubles, y: Flags, prevalence: Doubles) -> tuple[float, float]:
    """The slope and the shift of the offset that all names share: one logistic regression over all pairs."""
    flat, goal, base = z.ravel(), y.ravel(), np.broadcast_to(prevalence, z.shape).ravel()
    if not goal.any():
        return 1.0, 0.0
    found, _ = _newton(flat, goal, np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([10.0, 10.0]), base)
    return max(float(found[0]), 0.05), float(found[1])


def _penalised(z: Doubles, y: Flags, prior: Doubles, spread: Doubles) -> tuple[Doubles, Doubles]:
    return _newton(z, y, prior.copy(), prior, spread, np.zeros(len(z)))


def _newton(
    z: Doubles, y: Flags, start: Doubles, prior: Doubles, spread: Doubles, base: Doubles
) -> tuple[Doubles, Doubles]:
    """Slope and offset with the highest posterior, and their covariance there (Laplace)."""
    from scipy.special import expit

    design = np.column_stack([z, np.ones(len(z))])
    precision = np.diag(1 / spread**2)

    def loss(p: Doubles) -> float:
        t = design @ p + base
        return float(np.sum(np.logaddexp(0.0, t) - y * t) + 0.5 * (p - prior) @ precision @ (p - prior))

    parameters, current = start, loss(start)
    hessian = precision
    for _ in range(60):
        p = expit(design @ parameters + base)
        gradient = design.T @ (p - y) + precision @ (parameters - prior)
        hessian = (design * (p * (1 - p))[:, None]).T @ design + precision
        step = np.linalg.solve(hessian, -gradient)
        length = 1.0
        while length > 1e-8 and loss(parameters + length * step) > current:
            length /= 2
        if length <= 1e-8 or np.abs(step).max() < 1e-8:
            break
        parameters = parameters + length * step
        current = loss(parameters)
    return parameters, np.asarray(np.linalg.inv(hessian), np.float64)


@dataclass(frozen=True)
class Cut:
    """Where a ranking is cut.

    threshold : the lowest probability above the cut
    count : items above it
    precision, recall : expected values, by the probabilities
    """

    threshold: float
    count: int
    precision: float
    recall: float


def best_cut(probabilities: npt.ArrayLike, precision: float | None = None) -> Cut:
    """The cut with the highest expected F1, or the lowest one that keeps the expected precision.

    >>> best_cut([0.9, 0.8, 0.1, 0.05]).count
    2
    >>> best_cut([0.9, 0.6, 0.3], precision=0.75).count
    2
    """
    if precision is not None and not 0 < precision <= 1:
        raise ConfigError(f"A precision is above 0 and at most 1, not {precision}.")
    p = np.sort(np.asarray(probabilities, np.float64).ravel())[::-1]
    if not len(p) or p.sum() <= 0:
        return Cut(1.0, 0, float("nan"), float("nan"))
    right, depth = np.cumsum(p), np.arange(1, len(p) + 1)
    if precision is None:
        k = int(np.argmax(2 * right / (depth + p.sum())))
    else:
        holds = np.flatnonzero(right / depth >= precision - 1e-12)
        if not len(holds):
            return Cut(float(np.nextafter(p[0], 2)), 0, float("nan"), 0.0)
        k = int(holds[-1])
    return Cut(float(p[k]), k + 1, float(right[k] / depth[k]), float(right[k] / p.sum()))


@dataclass(frozen=True)
class Count:
    """How many items show a name: the expected number and an interval."""

    expected: float
    low: float
    high: float


def estimate_count(
    calibration: Calibration,
    name: str,
    scores: npt.ArrayLike,
    rng: np.random.Generator,
    known: int = 0,
    confidence: float = 0.9,
) -> Count:
    """How many of the scored items show the name, plus `known` that are labelled with it.

    The interval covers the uncertainty of the sigmoid and of single items.
    """
    s = np.asarray(scores, np.float64)
    if not len(s):
        return Count(float(known), float(known), float(known))
    drawn = calibration.draws(name, s, rng)
    means = drawn.sum(axis=1, dtype=np.float64)
    variances = np.maximum(means - np.einsum("ij,ij->i", drawn, drawn), 0)
    totals = np.clip(means + rng.normal(size=len(means)) * np.sqrt(variances), 0, len(s))
    low, high = np.quantile(totals, [(1 - confidence) / 2, (1 + confidence) / 2])
    expected = float(calibration.probabilities(s[:, None], [name]).sum())
    return Count(known + expected, known + min(float(low), expected), known + max(float(high), expected))


def calibration_error(labels: npt.ArrayLike, probabilities: npt.ArrayLike, bins: int = 15) -> float:
    """Expected calibration error: the mean distance of probability and frequency, over bins of equal width.

    >>> calibration_error([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0])
    0.0
    """
    y, p = np.asarray(labels, np.float64).ravel(), np.asarray(probabilities, np.float64).ravel()
    if len(y) != len(p) or not len(y):
        raise DataError(f"{len(y)} labels don't fit {len(p)} probabilities, or there are none.")
    place = np.minimum((p * bins).astype(np.intp), bins - 1)
    gaps = np.abs(np.bincount(place, p, bins) - np.bincount(place, y, bins))
    return float(gaps.sum() / len(y))
