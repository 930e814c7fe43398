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
from numba import njit

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
    labels, weights, may = table.labels, table.weights, shares > 0
    wanted, room = shares[:, None] * labels.sum(axis=0), shares * weights.sum()
    lacks = np.repeat(may[:, None], labels.shape[1], axis=1)
    part = np.full(len(weights), -1, dtype=np.intp)
    # Large groups first, while every part still has room for them.
    order = order[np.argsort(-weights[order], kind="stable")]
    left = labels.sum(axis=0)
    while (left > 0).any():
        rarest = int(np.argmin(np.where(left > 0, left, np.inf)))
        bearers = order[(labels[order, rarest] > 0) & (part[order] < 0)]
        _deal_bearers(bearers, rarest, labels, weights, may, wanted, room, lacks, left, part)
        left[rarest] = 0
    _deal_rest(order[part[order] < 0], weights, may, room, part)
    return part


@njit(cache=True)
def _deal_bearers(
    bearers: Any,
    label: int,
    labels: Any,
    weights: Any,
    may: Any,
    wanted: Any,
    room: Any,
    lacks: Any,
    left: Any,
    part: Any,
) -> None:
    """Deal out the groups that bear a label, and count what each part then wants of every label."""
    for turn in range(len(bearers)):
        group = bearers[turn]
        scarce = len(bearers) - turn <= lacks[:, label].sum()
        chosen = _first_open(wanted[:, label], labels[group, label], room, lacks[:, label] if scarce else may)
        part[group] = chosen
        room[chosen] -= weights[group]
        for k in range(labels.shape[1]):
            wanted[chosen, k] -= labels[group, k]
            left[k] -= labels[group, k]
            if labels[group, k] > 0:
                lacks[chosen, k] = False


@njit(cache=True)
def _deal_rest(groups: Any, weights: Any, may: Any, room: Any, part: Any) -> None:
    for group in groups:
        chosen = _first_open(room, weights[group], room, may)
        part[group] = chosen
        room[chosen] -= weights[group]


@njit(cache=True)
def _first_open(want: Any, amount: float, room: Any, allowed: Any) -> int:
    """The first part that lacks at least half of the amount; else the one that lacks most, or has most room."""
    best = -1
    for k in range(len(want)):
        if not allowed[k]:
            continue
        if want[k] >= amount / 2 - 1e-9:
            return k
        if best < 0:
            best = k
            continue
        own, most = np.rint(want[k] * 1e9), np.rint(want[best] * 1e9)
        if own > most or (own == most and room[k] > room[best]):
            best = k
    return best
