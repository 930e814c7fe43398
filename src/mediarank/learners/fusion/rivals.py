"""Events compete for a clip: where a clip hardly shows two of them, evidence for one is evidence against the others.

From the log-odds of each event a share of those of "any other event" is subtracted. A share of 1 is the comparison of
exclusive events, 0 leaves scores as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mediarank.types import Doubles

SHARES: Final = (0.0, 0.5, 1.0)
"""To choose from, by validation."""


def against_rivals(log_odds: Doubles, share: float) -> Doubles:
    """(clips, events) `z_e − share · log(1 + Σ_{f≠e} exp z_f)`."""
    if share == 0 or log_odds.shape[1] < 2:
        return log_odds
    odds = np.exp(np.minimum(log_odds, 50.0))
    rivals = np.stack([np.delete(odds, event, axis=1).sum(axis=1) for event in range(log_odds.shape[1])], axis=1)
    return np.asarray(log_odds - share * np.log1p(rivals))
