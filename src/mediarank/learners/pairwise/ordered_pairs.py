"""Supervision for attributes: which of two items shows more of an attribute.

`OrderedPairs` holds item positions, not ids; it is made from strengths (of items, or of the classes that items
belong to) or from pairs that people have compared. Pairs called equal teach nothing about the order: `equal_pairs`
keeps them apart for evaluation and for learning a metric. How many pairs a score puts in order is measured by
`evaluation/pairs.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError

Positions = npt.NDArray[np.intp]


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
            raise DataError("Ordered pairs need as many stronger as weaker items, one of each per pair.")
        if (self.stronger == self.weaker).any():
            raise DataError("An item can't be stronger than itself; leave such pairs out.")

    def __len__(self) -> int:
        return len(self.stronger)

    @classmethod
    def from_strengths(cls, strengths: npt.ArrayLike, limit: int | None = None, seed: int = 0) -> OrderedPairs:
        """All pairs of items of unequal strength; NaN is unknown and compared with nothing.

        limit : if there are more pairs, this many are drawn at random
        """
        strength = np.asarray(strengths, dtype=np.float64)
        known = np.flatnonzero(~np.isnan(strength))
        rising = known[np.argsort(strength[known], kind="stable")]
        # In rising order the items weaker than another come before it: pair number p is found without listing all.
        weaker_than = np.searchsorted(strength[rising], strength[rising], side="left")
        ends = np.cumsum(weaker_than)
        total = int(ends[-1]) if len(ends) else 0
        if limit is None or total <= limit:
            number = np.arange(total)
        else:
            number = np.sort(np.random.default_rng(seed).choice(total, limit, replace=False))
        stronger = np.searchsorted(ends, number, side="right")
        weaker = number - (ends - weaker_than)[stronger]
        return cls(rising[stronger], rising[weaker], len(strength))

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
