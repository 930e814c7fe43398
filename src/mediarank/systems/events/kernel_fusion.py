"""Our fusion: kernels are added up before anything is learned, and events compete for clips.

1. Every classifier's feature type becomes one vector per clip (`base_models/clip_vectors.py`), with a kernel of unit
   spread. Kernel ridge on each alone says how good it is on held-out clips: q, its average precision above chance.
2. Kernel ridge on the sum of all kernels, each weighted by the root of q, gives calibrated log-odds.
3. Events compete for clips (`learners/fusion/rivals.py`), as much as is best on held-out clips.

Only the last is chosen by validation: with the few positives that events have, choosing the ridge and the power of q
as well chose noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from mediarank.base_models.clip_svm import ClipClassifier, ClipSVMConfig, Trained, train
from mediarank.base_models.clip_vectors import clip_vectors, kernel_spread, side_by_side
from mediarank.evaluation.metrics import average_precision
from mediarank.learners.fusion.linear_fusion import SUREST
from mediarank.learners.fusion.rivals import SHARES, against_rivals
from mediarank.types import Doubles, FeatureMatrix

Marks = npt.NDArray[np.bool_]
STRENGTH: Final = 1.0
"""Of the ridge, for centred kernels of unit spread."""
FAINTEST: Final = 1e-3
"""Least weight of a kernel, for scales that stay finite."""


@dataclass(frozen=True, eq=False)
class KernelFusion:
    """One classifier on the weighted sum of kernels.

    order : the classifiers whose feature types are added up
    scales : (classifiers,) what each type's vectors are divided by
    share : how much events compete for clips
    """

    order: tuple[str, ...]
    scales: Doubles
    share: float
    classifier: ClipClassifier

    def log_odds(
        self, matrices: Mapping[str, FeatureMatrix], clips: Sequence[str], events: Sequence[str] | None = None
    ) -> Doubles:
        """(clips, events); by default of all events."""
        vectors = {name: clip_vectors(matrices[name], clips) for name in self.order}
        judged = None if self.share else events
        odds = compared(
            self.classifier.probabilities(side_by_side(vectors, self.scales, clips), clips, judged), self.share
        )
        if events is None or judged is not None:
            return odds
        return odds[:, [self.classifier.events.index(event) for event in events]]

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, facts = self.classifier.to_arrays()
        return {**arrays, "scales": self.scales}, {"order": list(self.order), "share": self.share, "classifier": facts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> KernelFusion:
        classifier = ClipClassifier.from_arrays(arrays, facts["classifier"])
        return cls(tuple(facts["order"]), np.asarray(arrays["scales"]), float(facts["share"]), classifier)


def fit_kernel_fusion(
    matrices: Mapping[str, FeatureMatrix],
    labels: Mapping[str, Marks],
    clips: Sequence[str],
    config: ClipSVMConfig,
    groups: Mapping[str, str] | None = None,
) -> tuple[KernelFusion, Doubles]:
    """The fusion, learned from `clips`, and its log-odds (clips, events) of them, held out."""
    vectors = {name: clip_vectors(matrix, clips) for name, matrix in matrices.items()}
    spreads = np.array([kernel_spread(matrix, clips) for matrix in vectors.values()])

    def ridge(name: str, matrix: FeatureMatrix) -> Trained:
        return train(name, "intersection", matrix, labels, clips, config, groups, STRENGTH)

    marks = np.stack(list(labels.values()), axis=1)
    quality = np.array([_lead(ridge(name, matrix).held_out, marks) for name, matrix in vectors.items()])
    weights = np.sqrt(quality / quality.max()) if quality.any() else np.ones(len(quality))
    scales = spreads / np.maximum(weights, FAINTEST)
    together = ridge("together", side_by_side(vectors, scales, clips))
    odds = {share: compared(together.held_out, share) for share in SHARES}
    share = max(SHARES, key=lambda share: round(_precision(odds[share], marks), 9))  # among equals the least
    return KernelFusion(tuple(vectors), scales, share, together.classifier), odds[share]


def compared(probabilities: Doubles, share: float) -> Doubles:
    """(clips, events) log-odds, after events have competed."""
    return against_rivals(np.asarray(logit(np.clip(probabilities, SUREST, 1 - SUREST))), share)


def _precision(scores: Doubles, marks: Marks) -> float:
    """Mean average precision over events; equal scores are ranked in random order, not in that of the clips."""
    order = np.random.default_rng(0).permutation(len(marks))
    events = [event for event in range(marks.shape[1]) if marks[:, event].any()]
    values = [average_precision(marks[order, event], scores[order, event]) for event in events]
    return float(np.mean(values)) if values else 0.0


def _lead(scores: Doubles, marks: Marks) -> float:
    """Mean average precision above that of chance."""
    return max(_precision(scores, marks) - float(marks[:, marks.any(axis=0)].mean()), 0.0)
