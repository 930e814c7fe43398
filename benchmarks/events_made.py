"""Score matrices with a known gap between held-in and unseen scores, in the sizes of paper 002.

A clip's four decisions are Gaussian within its class, correlated, and shifted by how good each classifier is. Unseen
scores are their logistic function. On its own training clips a classifier pushes positives up and negatives down by
how much it overfits, which has nothing to do with how good it is: that is the gap. Cross-validated scores lose a
little, since their models saw fewer clips. Nothing is learned here, so the answer is known: weigh by unseen quality.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mediarank.systems.events.protocol import EventScores

CLASSIFIERS = 4
BASE, UNSEEN, TEST = 1650, 412, 4292
SHARE = 0.05
"""Of positives: about 100 of 2062 clips, as there."""


def made_event(
    seed: int, base: int = BASE, unseen: int = UNSEEN, test: int = TEST, share: float = SHARE
) -> EventScores:
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.3, 2.2, CLASSIFIERS)
    mixing = 0.5 * rng.standard_normal((CLASSIFIERS, CLASSIFIERS))
    covariance = mixing @ mixing.T + np.eye(CLASSIFIERS)
    spread = np.sqrt(np.diag(covariance))
    factor = np.linalg.cholesky(covariance / np.outer(spread, spread))
    overfit = rng.uniform(0.5, 3.0, CLASSIFIERS)
    narrower = rng.uniform(0.4, 0.9, CLASSIFIERS)

    def decisions(clips: int) -> tuple[np.ndarray, np.ndarray]:
        shown = np.arange(clips) < round(share * clips)
        return rng.standard_normal((clips, CLASSIFIERS)) @ factor.T + np.outer(shown, quality), shown

    def scores(values: np.ndarray) -> np.ndarray:
        return expit(1.5 * values - 4.0)

    of_base, base_y = decisions(base)
    of_unseen, unseen_y = decisions(unseen)
    of_test, test_y = decisions(test)
    centre = np.outer(base_y, quality)
    held_in = narrower * (of_base - centre) + centre + np.where(base_y[:, None], overfit, -0.3 * overfit)
    out_of_fold = of_base - 0.15 * centre
    return EventScores(
        scores(held_in), scores(out_of_fold), base_y, scores(of_unseen), unseen_y, scores(of_test), test_y
    )


def made_events(first_seed: int, count: int = 5) -> dict[str, EventScores]:
    return {f"made_{seed}": made_event(seed) for seed in range(first_seed, first_seed + count)}
