"""Score matrices with a known gap between held-in and unseen scores, in the sizes of paper 002.

A clip's four decisions are drawn within its class and shifted by how good each classifier is. Unseen scores are their
logistic function. On its own training clips a classifier pushes positives up and negatives down by how much it
overfits, which has nothing to do with how good it is: that is the gap. Cross-validated scores lose a little, since
their models saw fewer clips. Nothing is learned here, so the answer is known: weigh by unseen quality.

There are four kinds, because the scale of scores decides much:

gaussian : decisions with equal covariances in both classes, for which adding up log-odds is right by construction
heavy : Student's t with 3 degrees of freedom, positives with another, larger covariance; neither scale is right,
    but log-odds are better
either : a positive is recognised by some of the classifiers only and looks like a negative to the others, so that
    probabilities, which add up alternatives, suit better than log-odds, which multiply evidence
mixed : as gaussian, but a classifier does not recognise three in ten positives; the plain averages of probabilities
    and of log-odds are equally good
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from scipy.special import expit

from mediarank.systems.events.protocol import EventScores

Kind = Literal["gaussian", "heavy", "either", "mixed"]
KINDS: Final[tuple[Kind, ...]] = ("gaussian", "heavy", "either", "mixed")
CLASSIFIERS = 4
BASE, UNSEEN, TEST = 1650, 412, 4292
SHARE = 0.05
"""Of positives: about 100 of 2062 clips, as there."""
RECOGNISED = {"either": 0.4, "mixed": 0.7}
"""Share of the positives that a classifier recognises; elsewhere it sees all."""


def made_event(
    seed: int, kind: Kind = "gaussian", base: int = BASE, unseen: int = UNSEEN, test: int = TEST, share: float = SHARE
) -> EventScores:
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.3, 2.2, CLASSIFIERS) if kind != "either" else rng.uniform(1.0, 4.0, CLASSIFIERS)
    factor, other = _factor(rng), _factor(rng) * rng.uniform(1.0, 1.8, CLASSIFIERS)[:, None]
    overfit = rng.uniform(0.5, 3.0, CLASSIFIERS)
    narrower = rng.uniform(0.4, 0.9, CLASSIFIERS)

    def decisions(clips: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shown = np.arange(clips) < round(share * clips)
        noise = rng.standard_normal((clips, CLASSIFIERS))
        if kind == "heavy":
            noise *= np.sqrt(3 / rng.chisquare(3, (clips, 1)))
            noise = np.where(shown[:, None], noise @ other.T, noise @ factor.T)
        else:
            noise = noise @ factor.T
        centre = np.outer(shown, quality)
        if kind in RECOGNISED:
            centre *= rng.random((clips, CLASSIFIERS)) < RECOGNISED[kind]
        return noise + centre, centre, shown

    def scores(values: np.ndarray) -> np.ndarray:
        return expit(1.5 * values - 4.0)

    of_base, centre, base_y = decisions(base)
    of_unseen, _, unseen_y = decisions(unseen)
    of_test, _, test_y = decisions(test)
    held_in = narrower * (of_base - centre) + centre + np.where(base_y[:, None], overfit, -0.3 * overfit)
    out_of_fold = of_base - 0.15 * centre
    return EventScores(
        scores(held_in), scores(out_of_fold), base_y, scores(of_unseen), unseen_y, scores(of_test), test_y
    )


def made_events(first_seed: int, kind: Kind = "gaussian", count: int = 5) -> dict[str, EventScores]:
    return {f"{kind}_{seed}": made_event(seed, kind) for seed in range(first_seed, first_seed + count)}


def _factor(rng: np.random.Generator) -> np.ndarray:
    """A root of a random correlation matrix."""
    mixing = 0.5 * rng.standard_normal((CLASSIFIERS, CLASSIFIERS))
    covariance = mixing @ mixing.T + np.eye(CLASSIFIERS)
    spread = np.sqrt(np.diag(covariance))
    return np.linalg.cholesky(covariance / np.outer(spread, spread))
