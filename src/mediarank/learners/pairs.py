"""Supervision for attributes: which of two items shows more of it.

`OrderedPairs` holds item positions, not ids; it is made from strengths (of items, or of the classes that items
belong to) or from pairs that people have compared. Pairs called equal teach nothing about the order: `equal_pairs`
keeps them apart for evaluation and for learning a metric. Then the one measure of the papers, the share of pairs put
in the right order, from pairs or, for collections with too many of them to list, straight from strengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError

Positions = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class OrderedPairs:
    """Item `stronger[p]` shows the attribute more than item `weaker[p]`; both are positions below `items`."""

    stronger: Positions
    weaker: Positions
    items: int

    def __post_init__(self) -> None:
        for name in ("stronger", "weaker"):
            positions = np.ascontiguousarray(getattr(self, name), dtype=np.intp)
            object.__setattr__(self, name, positions)
            if len(positions) and not (positions.min() >= 0 and positions.max() < self.items):
                raise DataError(f"A pair names an item outside the {self.items} that are ranked.")
        if self.stronger.shape != self.weaker.shape or self.stronger.ndim != 1:
            raise DataError("Ordered pairs need as many stronger as weaker items, one of each a pair.")
        if (self.stronger == self.weaker).any():
            raise DataError("An item can't be stronger than itself; leave such pairs out.")

    def __len__(self) -> int:
        return len(self.stronger)

    @classmethod
    def from_strengths(cls, strengths: npt.ArrayLike, limit: int | None = None, seed: int = 0) -> OrderedPairs:
        """All pairs of items of unequal strength; NaN is unknown and compared with nothing.

        limit : where there would be more pairs than this, that many are drawn (repeats are possible)
        """
        strength = np.asarray(strengths, dtype=np.float64)
        if limit is None or len(strength) ** 2 <= 4 * limit:
            stronger, weaker = np.nonzero(strength[:, None] > strength[None, :])
            if limit is not None and len(stronger) > limit:
                kept = np.sort(np.random.default_rng(seed).choice(len(stronger), limit, replace=False))
                stronger, weaker = stronger[kept], weaker[kept]
            return cls(stronger, weaker, len(strength))
        rng = np.random.default_rng(seed)
        known = np.flatnonzero(~np.isnan(strength))
        drawn: list[npt.NDArray[np.intp]] = []
        while sum(map(len, drawn)) < limit and np.ptp(strength[known]) > 0:
            both = rng.choice(known, (limit, 2))
            drawn.append(both[strength[both[:, 0]] > strength[both[:, 1]]])
        pairs = np.concatenate([*drawn, np.empty((0, 2), dtype=np.intp)])[:limit]
        return cls(pairs[:, 0], pairs[:, 1], len(strength))

    @classmethod
    def from_items(cls, pairs: Sequence[tuple[str, str]], ids: Sequence[str]) -> OrderedPairs:
        """Pairs (stronger id, weaker id), each found among `ids`; those with an unknown item are left out."""
        position = {item: row for row, item in enumerate(ids)}
        found = [(position[a], position[b]) for a, b in pairs if a in position and b in position]
        both = np.asarray(found, dtype=np.intp).reshape(-1, 2)
        return cls(both[:, 0], both[:, 1], len(position))

    def within(self, kept: Positions) -> OrderedPairs:
        """The pairs among `kept`, in terms of their places in `kept`: how a fold sees its supervision."""
        place = np.full(self.items, -1, dtype=np.intp)
        place[kept] = np.arange(len(kept))
        inside = (place[self.stronger] >= 0) & (place[self.weaker] >= 0)
        return OrderedPairs(place[self.stronger[inside]], place[self.weaker[inside]], len(kept))


def equal_pairs(strengths: npt.ArrayLike) -> Positions:
    """(m, 2) positions of items whose known strengths are equal, the smaller position first."""
    strength = np.asarray(strengths, dtype=np.float64)
    return np.argwhere(np.triu(strength[:, None] == strength[None, :], k=1)).astype(np.intp)


def share_in_order(scores: npt.ArrayLike, pairs: OrderedPairs) -> float:
    """The share of pairs whose stronger item has the higher score: one comparison a pair; a tie is not in order.

    No pairs give NaN: nothing was measured.
    """
    score = np.asarray(scores)
    if score.shape != (pairs.items,):
        raise DataError(f"{pairs.items} items are ranked, but the scores have the shape {score.shape}.")
    if not len(pairs):
        return float("nan")
    return float(np.count_nonzero(score[pairs.stronger] > score[pairs.weaker]) / len(pairs))


def share_in_order_of(scores: npt.ArrayLike, strengths: npt.ArrayLike) -> float:
    """`share_in_order` over all pairs of unequal strength without listing them: n log n instead of n² comparisons."""
    strength = np.asarray(strengths, dtype=np.float64)
    known = ~np.isnan(strength)
    score, strength = np.asarray(scores)[known], strength[known]
    below = score[:0]
    right = total = 0
    for level in np.unique(strength):
        here = np.sort(score[strength == level])
        right += int(np.searchsorted(below, here, side="left").sum())
        total += len(below) * len(here)
        below = np.sort(np.concatenate([below, here]), kind="stable")
    return right / total if total else float("nan")
