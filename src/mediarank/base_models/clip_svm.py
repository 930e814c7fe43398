"""A base classifier of clips (paper 002, section 3): one SVM or kernel ridge per event, on one feature type.

A clip has one row (bags of words, object responses) or one row per frame; its decision is the mean over its rows, so
classifiers of frames and of clips share this code. The kernel matrix is computed once for all events, folds and
penalties. C is chosen by cross-validation over clips, never over frames of one clip, and the held-out decisions
calibrate the SVM; they are also the out-of-fold scores that stacking needs. Clips without a row, such as silent clips
for the sound, get the event's share among the training clips, as a calibrated classifier without information would
give.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy.special import expit, logit

from mediarank.base_models.calibration import fit_sigmoid
from mediarank.base_models.clip_rows import ClipRows
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import Kernel, SVMConfig, area_under_roc, grouped_folds
from mediarank.base_models.training import standardisation
from mediarank.fanout import share_out
from mediarank.similarity.kernels import KERNELS
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

Marks = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ClipSVMConfig:
    """How the base classifiers of clips are trained.

    penalties : values of C to choose from, for kernels of unit spread
    folds : of the cross-validation over clips
    frames : drawn at random of each clip, at most, for training and for scoring (the paper's 20)
    training_rows : in all, at most; if there are more, fewer frames of each clip are used
    """

    penalties: tuple[float, ...] = (0.1, 1.0, 10.0)
    folds: Annotated[int, Field(ge=2)] = 5
    frames: Annotated[int, Field(ge=1)] = 20
    training_rows: Annotated[int, Field(ge=2)] = 3000
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.penalties or min(self.penalties) <= 0:
            raise ValueError("penalties must hold at least one value, all above 0")


@dataclass(frozen=True)
class ClipClassifier:
    """SVMs by event, in the order of `events`; clips without a row get the `priors` (events,).

    An event whose positives all lack the feature has no SVM: every clip gets its prior.
    """

    events: tuple[str, ...]
    priors: Doubles
    pool: SVMPool
    frames: int
    seed: int

    def probabilities(
        self, matrix: FeatureMatrix, clips: Sequence[str], events: Sequence[str] | None = None
    ) -> Doubles:
        """(clips, events) calibrated probabilities; by default of all events, else by the SVMs of those named only."""
        rows = ClipRows.of(matrix, clips).few(self.frames, self.seed)
        wanted = list(self.events if events is None else events)
        out = np.tile(self.priors[[self.events.index(event) for event in wanted]], (len(clips), 1))
        if not rows.clips:
            return out
        place = {clip: k for k, clip in enumerate(clips)}
        present = [place[clip] for clip in rows.clips]
        for pool in [self.pool] if events is None else [self.pool.of(event) for event in wanted]:
            if len(pool):
                decisions = rows.mean(pool.decisions(matrix.values[rows.rows]).astype(np.float64))
                columns = [wanted.index(event) for event, _ in pool.models]
                out[np.ix_(present, columns)] = expit(decisions * pool.slopes + pool.offsets)
        return out

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays for npz and a description for JSON; `from_arrays` takes both back."""
        arrays, meta = self.pool.to_arrays()
        described = {"events": list(self.events), "frames": self.frames, "seed": self.seed, **meta}
        return {**arrays, "priors": self.priors}, described

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any]) -> ClipClassifier:
        pool = SVMPool.from_arrays(arrays, meta)
        return cls(tuple(meta["events"]), arrays["priors"], pool, int(meta["frames"]), int(meta["seed"]))


@dataclass(frozen=True)
class Trained:
    """A classifier and its scores of its training clips: by itself (which are too good) and held out.

    held_in, held_out : (training clips, events) probabilities
    """

    classifier: ClipClassifier
    held_in: Doubles
    held_out: Doubles


FEWEST: Final = 2
"""Positives and negatives with the feature that an SVM needs: one to learn from, one to hold out."""


def train(
    name: str,
    kernel: Kernel,
    matrix: FeatureMatrix,
    labels: Mapping[str, Marks],
    clips: Sequence[str],
    config: ClipSVMConfig,
    groups: Mapping[str, str] | None = None,
    ridge: float | None = None,
) -> Trained:
    """Fit one SVM per event on `clips`, which must be those of the fitting roles.

    name : of the classifier; it seeds the random numbers
    labels : event -> which clips show it
    groups : clip -> its group, such as other cuts of the same film, which is held out as a whole; by default each
        clip is a group
    ridge : for kernel ridge of this strength, on centred kernels of unit spread, in place of SVMs
    """
    rows = ClipRows.of(matrix, clips).few(config.frames, config.seed)
    if not rows.clips:
        raise DataError(f"No clip to train on has the feature of the classifier {name!r}.")
    teaching = rows.few(max(1, config.training_rows // len(rows.clips)), config.seed)
    order = {clip: k for k, clip in enumerate(clips)}
    present = np.array([order[clip] for clip in rows.clips])
    values = np.ascontiguousarray(matrix.values[teaching.rows])
    mean, scale = standardisation(values, SVMConfig(kernel=kernel))
    prepared: Floats = (values - mean) * scale
    gram = KERNELS[kernel](prepared).astype(np.float64)
    # Kernels of unit spread, so that a C means the same for each.
    spread = max(float(np.trace(gram) / len(gram) - gram.mean()), 1e-12)
    gram /= spread
    events = [event for event in labels if _enough(name, event, labels[event][present])]
    group = np.unique([(groups or {}).get(clip, clip) for clip in rows.clips], return_inverse=True)[1]
    examples = [(event, labels[event][present]) for event in events]
    fitted = share_out(partial(_fit, gram, teaching, group, name, config, ridge), examples)
    svms = dict(zip(events, fitted, strict=True))
    priors = np.array([float(labels[event].mean()) for event in labels])
    pool = _pool(kernel, [(event, svms[event]) for event in events], prepared, mean, scale, spread)
    classifier = ClipClassifier(tuple(labels), priors, pool, config.frames, config.seed)
    held_out = np.tile(priors, (len(clips), 1))
    for event in events:
        known = expit(svms[event].held_out * svms[event].slope + svms[event].offset)
        held_out[present, list(labels).index(event)] = known
    return Trained(classifier, classifier.probabilities(matrix, clips), held_out)


@dataclass(frozen=True)
class _ClipSVM:
    """One SVM and its cross-validated decisions.

    coefficients : (rows,) dual, 0 where a row is no support vector
    held_out : (clips,) cross-validated decisions
    """

    coefficients: Doubles
    intercept: float
    held_out: Doubles
    slope: float
    offset: float


def _fit(
    gram: Doubles,
    rows: ClipRows,
    group: Integers,
    name: str,
    config: ClipSVMConfig,
    ridge: float | None,
    example: tuple[str, Marks],
) -> _ClipSVM:
    """The SVM of one event. example : the event, and which of the clips show it"""
    event, labels = example
    rng = np.random.default_rng([config.seed, zlib.crc32(name.encode()), zlib.crc32(event.encode())])
    folds = grouped_folds(labels, group, config.folds, rng)
    penalties, solve = (sorted(config.penalties), _solve) if ridge is None else ([ridge], _solve_ridge)
    held_out = np.zeros((len(penalties), len(labels)))
    for fold in folds:
        held = np.isin(rows.clip, fold)
        within, across = gram[np.ix_(~held, ~held)], gram[np.ix_(held, ~held)]
        for k, penalty in enumerate(penalties):
            coefficients, intercept = solve(within, labels[rows.clip[~held]], penalty)
            decisions = np.zeros((len(rows.rows), 1))
            decisions[held, 0] = across @ coefficients + intercept
            held_out[k, fold] = rows.mean(decisions)[fold, 0]
    # Fold by fold, since the scales of SVMs of different folds may differ; among equals the smoother SVM is chosen.
    areas = [np.mean([area_under_roc(of_penalty[fold], labels[fold]) for fold in folds]) for of_penalty in held_out]
    chosen = int(np.argmax(np.round(areas, 9)))
    best = held_out[chosen]
    coefficients, intercept = solve(gram, labels[rows.clip], penalties[chosen])
    slope, offset = fit_sigmoid(best, labels)
    if slope <= 0:  # on held-out clips it is worse than chance, so it gives every clip the prior
        slope, offset = 0.0, float(logit(labels.mean()))
    return _ClipSVM(coefficients, intercept, best, slope, offset)


def _solve(gram: Doubles, labels: Marks, penalty: float) -> tuple[Doubles, float]:
    import sklearn  # takes more than a second, and scoring does not need it
    from sklearn.svm import SVC

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        svm = SVC(C=penalty, kernel="precomputed", class_weight="balanced").fit(gram, labels)
    coefficients = np.zeros(len(labels))
    coefficients[svm.support_] = svm.dual_coef_[0]
    return coefficients, float(svm.intercept_[0])


def _solve_ridge(gram: Doubles, labels: Marks, strength: float) -> tuple[Doubles, float]:
    """Kernel ridge on the centred kernel; its coefficients sum to 0, so they hold for the kernel as it is."""
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    spread = float(np.trace(centred)) / len(gram)
    if spread < 1e-9:  # rows that do not differ
        return np.zeros(len(gram)), 0.0
    coefficients = np.linalg.solve(centred / spread + strength * np.eye(len(gram)), labels - labels.mean()) / spread
    return coefficients, float(-means @ coefficients)


def _enough(name: str, event: str, labels: Marks) -> bool:
    fewest = min(int(labels.sum()), int((~labels).sum()))
    if fewest < FEWEST:
        warnings.warn(
            f"The classifier {name!r} can't learn {event!r}: of {len(labels)} training clips with its feature "
            f"{int(labels.sum())} are positive, and it needs {FEWEST} of each kind. It will give every clip the share "
            "of the event among the training clips.",
            stacklevel=3,
        )
    return fewest >= FEWEST


def _pool(
    kernel: Kernel,
    svms: Sequence[tuple[str, _ClipSVM]],
    prepared: Floats,
    mean: Floats,
    scale: Floats,
    spread: float,
) -> SVMPool:
    """The SVMs as a pool; coefficients are divided by the kernel's spread."""
    count = len(svms)
    full = np.zeros((len(prepared), count))
    for column, (_, svm) in enumerate(svms):
        full[:, column] = svm.coefficients / spread
    used = full.any(axis=1)
    vectors, coefficients = prepared[used], full[used].astype(np.float32)
    if kernel == "linear":
        vectors = np.ascontiguousarray((full[used].T @ vectors).astype(np.float32))
        coefficients = np.eye(count, dtype=np.float32)
    zeros = np.zeros(count, dtype=np.float32)
    return SVMPool(
        kernel,
        tuple((event, 0) for event, _ in svms),
        mean,
        scale,
        vectors,
        coefficients,
        np.array([svm.intercept for _, svm in svms], dtype=np.float32),
        gammas=np.ones(count, dtype=np.float32),
        low=zeros,
        high=zeros,
        slopes=np.array([svm.slope for _, svm in svms], dtype=np.float32),
        offsets=np.array([svm.offset for _, svm in svms], dtype=np.float32),
    )
