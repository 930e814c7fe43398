"""`consensus`: a weighted mean of our fusion of scores and our fusion of kernels, so that neither has to be picked.

Both learn from the same clips in different ways, one SVM per feature type and then weights, or all kernels at once, so
their errors differ. Which one suits a collection shows in the held-out clips of all events together; one event has too
few positives for that. So there is one weight per method, by logistic regression shrunk to equal weights, over scores
that are standardised on held-out clips, event by event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.learners.fusion.logistic_fusion import PRIOR, Logistic, logistic
from mediarank.learners.fusion.weighted_ridge import with_bias
from mediarank.types import Doubles

Marks = npt.NDArray[np.bool_]
SILENT: Final = 1e-9
"""Deviation of scores that are all the same but for rounding."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """of : the methods; weights : (methods, events) what each one's scores are multiplied by"""

    of: tuple[str, ...]
    weights: Doubles

    @classmethod
    def fit(cls, held_out: Mapping[str, Doubles], marks: Marks) -> Consensus:
        """held_out : method -> its scores (dealings, clips, events) of clips that it has not learned from

        A method that would count against what it says gets no weight; if both would, they count the same. It gets none
        either for an event of which it says the same of all clips.
        """
        found = np.stack([scores.mean(axis=0) for scores in held_out.values()])  # (methods, clips, events)
        spread = np.stack([scores.std(axis=(0, 1)) for scores in held_out.values()])
        scales = np.where(spread > SILENT, 1 / np.maximum(spread, SILENT), 0.0)
        standard = (found - found.mean(axis=1, keepdims=True)) * scales[:, None]
        columns = standard.reshape(len(found), -1).T
        learned = logistic(with_bias(columns), marks.ravel(), Logistic().strength, PRIOR)[:-1]
        kept = np.maximum(learned, 0.0) if (learned > 0).any() else np.full(len(learned), PRIOR)
        return cls(tuple(held_out), kept[:, None] * scales)

    def mean(self, scores: Sequence[Doubles], columns: Sequence[int] | None = None) -> Doubles:
        """(..., events) the weighted sum of the methods' scores.

        columns : the events that were asked for; all by default
        """
        weights = self.weights if columns is None else self.weights[:, list(columns)]
        return np.asarray(sum(found * weight for found, weight in zip(scores, weights, strict=True)))

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        return {"weights": self.weights}, {"of": list(self.of)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> Consensus:
        return cls(tuple(facts["of"]), np.asarray(arrays["weights"]))
