"""Groups of items dealt out to parts (roles, folds) in given shares, so that every part sees every label if it can.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): the rarest label first, each of its groups to the
part that wants the label most. One thing is added: as soon as a label has no more groups left than there are parts
without it, those parts come first, so that a label with as many groups as parts reaches them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class GroupTable:
    """Groups as rows: `number` maps items to rows, `weights` counts items, `labels` counts each label."""

    number: Numbers
    weights: Doubles
    labels: Doubles

    @classmethod
    def of(
        cls, items: Sequence[str] | npt.NDArray[Any], groups: Numbers, marks: Mapping[str, Sequence[str]]
    ) -> GroupTable:
        """The groups of `items`; `marks` are the labels of each item."""
        number = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        words = sorted({mark for item in items for mark in marks.get(item, ())})
        column = {word: j for j, word in enumerate(words)}
        counts = np.zeros((int(number.max(initial=-1)) + 1, len(words)))
        for row, item in zip(number, items, strict=True):
            for mark in marks.get(item, ()):
                counts[row, column[mark]] += 1
        return cls(number, np.bincount(number).astype(np.float64), counts)


def deal(table: GroupTable, shares: Doubles, rng: np.random.Generator) -> Numbers:
    """The part that each group goes to; a part without a share gets nothing."""
    wanted = shares[:, None] * table.labels.sum(axis=0)
    room = shares * table.weights.sum()
    lacks = np.repeat((shares > 0)[:, None], table.labels.shape[1], axis=1)
    part = np.full(len(table.weights), -1, dtype=np.intp)
    shuffled = rng.permutation(len(table.weights))
    # Large groups first, while there is room for them everywhere.
    shuffled = shuffled[np.argsort(-table.weights[shuffled], kind="stable")]
    left = table.labels.sum(axis=0)
    has = table.labels > 0
    while True:
        waiting = np.where(left > 0, left, np.inf)
        rarest = int(np.argmin(waiting)) if len(waiting) else -1
        if rarest < 0 or not np.isfinite(waiting[rarest]):
            break
        bearers = shuffled[has[shuffled, rarest] & (part[shuffled] < 0)]
        for turn, group in enumerate(bearers):
            scarce = len(bearers) - turn <= lacks[:, rarest].sum()
            allowed = lacks[:, rarest] if scarce else shares > 0
            part[group] = chosen = _neediest(wanted[:, rarest], room, allowed)
            wanted[chosen] -= table.labels[group]
            room[chosen] -= table.weights[group]
            lacks[chosen] &= ~has[group]
            left -= table.labels[group]
        left[rarest] = 0
    for group in shuffled[part[shuffled] < 0]:
        part[group] = chosen = _neediest(room, room, shares > 0)
        room[chosen] -= table.weights[group]
    return part


def _neediest(want: Doubles, room: Doubles, allowed: npt.NDArray[np.bool_]) -> int:
    """Where the label is wanted most; among equals where most room is left."""
    candidates = np.flatnonzero(allowed)
    return int(candidates[np.lexsort((-room[candidates], -want[candidates].round(9)))[0]])
