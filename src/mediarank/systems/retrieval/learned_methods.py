"""Methods that compare class probabilities, beside the similarities that nobody taught (see `learned_types.py`).

All are linear in φ with its learned dimensions, so search, explanation and feedback treat them like any other:
`posteriors` ranks by one learned similarity, the probability of one class or Bhattacharyya's coefficient;
`learned_similarity` is OPAR-II over all of φ; `blend` is a convex combination of a fitted linear method on plain φ,
the cosine of whitened vectors and a learned similarity.

Class probabilities say little of an item whose class was never seen. So a fifth of the classes is left out of a second
fit, and its queries tell which combinations lose nothing there (`harmless`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mediarank.learners.online.first_order import OPAR2
from mediarank.learners.pairwise.phi_rankers import Chosen, FixedWeights, Ranker, Validation
from mediarank.similarity.phi import SIMILARITIES
from mediarank.types import Floats

LEARNED_METHODS: Final = ("posteriors", "learned_similarity", "blend")
COSINES: Final = {"one class": 0, "bhattacharyya": len(SIMILARITIES)}
"""Learned similarities by their place behind plain φ."""
WHITENED: Final = 2 * len(SIMILARITIES)
"""The place of the whitened vectors' cosine, where there are such vectors."""
SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the learned similarity in a blend."""
WHITENED_SHARES: Final = (0.5,)
"""Of the whitened vectors' cosine in the rest of a blend, beside none and all."""
COSTS: Final = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


def candidates(method: str, plain: int, validation: Validation, fitted: Mapping[str, Chosen]) -> list[Ranker]:
    """The rankers that a method of `LEARNED_METHODS` chooses from.

    plain : dimensions of φ without the learned ones; validation : φ with them
    fitted : linear methods on plain φ, padded with zeros; those that blend with learned similarities
    """
    if method == "learned_similarity":
        return [OPAR2(C=cost) for cost in COSTS]
    axes = np.eye(validation.phi.shape[2], dtype=np.float32)[plain:]
    single = {name: axes[place] for name, place in COSINES.items()}
    if method == "posteriors":
        return [FixedWeights(name, axis) for name, axis in single.items()]
    learned = {name: _unit(axis, validation) for name, axis in single.items()}
    return [
        FixedWeights(f"{share:.0%} {name}, {1 - share:.0%} {own}", (1 - share) * weights + share * axis)
        for own, weights in _untaught(axes, validation, fitted).items()
        for name, axis in learned.items()
        for share in SHARES
    ]


def _untaught(axes: Floats, validation: Validation, fitted: Mapping[str, Chosen]) -> dict[str, Floats]:
    """What blends with class probabilities: methods on plain φ, each with a share of the whitened cosine, if any."""
    own = {name: _unit(chosen.ranker.ranking_weights, validation) for name, chosen in fitted.items()}
    if len(axes) <= WHITENED:
        return own
    whitened = _unit(axes[WHITENED], validation)
    mixed = {
        f"({share:.0%} whitened, {1 - share:.0%} {name})": (1 - share) * weights + share * whitened
        for share in WHITENED_SHARES
        for name, weights in own.items()
    }
    return own | mixed | {"whitened": whitened}


def harmless(tried: Sequence[Ranker], plain: Ranker, novel: Validation | None) -> list[Ranker]:
    """Those that rank queries of classes never seen better than a method on plain φ, by a standard error or more.

    The queries are few, so one standard error is what it takes to be "no worse" on others; where no ranker reaches it,
    a difference of 0 is enough, and where none reaches that, none is returned.

    novel : such queries, or None where there are too few classes to tell; then all are returned
    """
    if novel is None:
        return list(tried)
    bound = novel.precisions(plain)
    gains = [novel.precisions(ranker) - bound for ranker in tried]
    sure = [gain.mean() >= gain.std() / np.sqrt(len(gain)) for gain in gains]
    enough = sure if any(sure) else [gain.mean() >= 0 for gain in gains]
    return [ranker for ranker, fine in zip(tried, enough, strict=True) if fine]


def padded(ranker: Any, dimensions: int) -> FixedWeights:
    """A linear ranker on plain φ as one on φ with learned dimensions, which it does not look at."""
    weights = np.zeros(dimensions, np.float32)
    weights[: len(ranker.ranking_weights)] = ranker.ranking_weights
    return FixedWeights(getattr(ranker, "name", "plain"), weights)


def _unit(weights: Floats, validation: Validation) -> Floats:
    """Weights whose scores have unit deviation over the validation pairs; those of constant scores stay."""
    scores = validation.phi.reshape(-1, len(weights)) @ weights
    deviation = float(scores.std())
    return (weights / deviation).astype(np.float32) if deviation > 0 else weights
