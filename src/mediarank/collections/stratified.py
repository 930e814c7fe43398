"""Deal groups of items out to parts (roles, folds) in given shares, with every label in every part if possible.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011), the rarest label first, with two changes. Parts are
filled one after another, in a random order of groups that does not depend on the other groups: adding a few groups
then moves only those at the borders between parts, where dealing in turn would move all later ones. And as soon as a
label has no more groups left than there are parts without it, those parts come first, so that a label with as many
groups as parts reaches them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mediarank.types import Doubles

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


def deal(table: GroupTable, shares: Doubles, order: Numbers) -> Numbers:
    """The part that each group goes to; a part without a share gets nothing.

    order : the groups in random order; the place of each depends on that group only
    """
    wanted = shares[:, None] * table.labels.sum(axis=0)
    room = shares * table.weights.sum()
    lacks = np.repeat((shares > 0)[:, None], table.labels.shape[1], axis=1)
    part = np.full(len(table.weights), -1, dtype=np.intp)
    # Large groups first, while every part still has room for them.
    order = order[np.argsort(-table.weights[order], kind="stable")]
    left = table.labels.sum(axis=0)
    has = table.labels > 0
    while True:
        waiting = np.where(left > 0, left, np.inf)
        rarest = int(np.argmin(waiting)) if len(waiting) else -1
        if rarest < 0 or not np.isfinite(waiting[rarest]):
            break
        bearers = order[has[order, rarest] & (part[order] < 0)]
        for turn, group in enumerate(bearers):
            scarce = len(bearers) - turn <= lacks[:, rarest].sum()
            allowed = lacks[:, rarest] if scarce else shares > 0
            part[group] = chosen = _first_open(wanted[:, rarest], table.labels[group, rarest], room, allowed)
            wanted[chosen] -= table.labels[group]
            room[chosen] -= table.weights[group]
            lacks[chosen] &= ~has[group]
            left -= table.labels[group]
        left[rarest] = 0
    for group in order[part[order] < 0]:
        part[group] = chosen = _first_open(room, table.weights[group], room, shares > 0)
        room[chosen] -= table.weights[group]
    return part


def _first_open(want: Doubles, amount: float, room: Doubles, allowed: npt.NDArray[np.bool_]) -> int:
    """The first part that lacks at least half of the amount; else the one that lacks most, or has most room."""
    candidates = np.flatnonzero(allowed)
    open_parts = candidates[want[candidates] >= amount / 2 - 1e-9]
    if len(open_parts):
        return int(open_parts[0])
    return int(candidates[np.lexsort((-room[candidates], -want[candidates].round(9)))[0]])
