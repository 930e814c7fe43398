"""Items that look the same, found from 64-bit perceptual hashes without comparing all pairs.

Two hashes at a Hamming distance of at most d agree on at least one of d + 1 bands of bits (pigeonhole), on at least two
of d + 2, and so on; so only hashes that share these bands are compared. The more hashes there are, the more bands must
agree, so that few others share them. Groups are the connected components of those that are near.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError

BITS = 64
MOST_AGREEING = 4
"""Bands that must agree, at most: more of them mean more passes."""


def near_duplicate_groups(hashes: Sequence[str], max_distance: int = 4) -> npt.NDArray[np.intp]:
    """A group number for each hash; hashes within `max_distance` bits of each other, or linked by such, share one.

    hashes : 16 hexadecimal digits each; an empty one stands for no picture and is alone

    >>> near_duplicate_groups(["00000000000000ff", "00000000000000fe", "ffffffffffffffff", ""]).tolist()
    [0, 0, 1, 2]
    """
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    if not 0 <= max_distance < BITS // 4:
        raise DataError(f"The distance of near-duplicates must be from 0 to {BITS // 4 - 1} bits, not {max_distance}.")
    pictured = np.flatnonzero([bool(h) for h in hashes])
    values = np.array([int(hashes[i], 16) for i in pictured.tolist()], dtype=np.uint64)
    by_value = np.argsort(values, kind="stable")
    pictured, values = pictured[by_value], values[by_value]
    links = [_links(values, mask, max_distance) for mask in _masks(max_distance, len(values))]
    left, right = (pictured[np.concatenate(side)] for side in zip(*links, strict=True))
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(len(hashes), len(hashes)))
    _, groups = connected_components(graph, directed=False)
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers].astype(np.intp)


def _masks(max_distance: int, count: int) -> list[int]:
    """Sets of bits, of which two near hashes agree on at least one; large enough that few of `count` share one."""
    agreeing = 1
    while agreeing < MOST_AGREEING and BITS * agreeing / (max_distance + agreeing) < np.log2(max(count, 1)) - 2:
        agreeing += 1
    edges = np.linspace(0, BITS, max_distance + agreeing + 1).astype(int).tolist()
    bands = [((1 << (high - low)) - 1) << low for low, high in pairwise(edges)]
    return [sum(some) for some in combinations(bands, agreeing)]


def _links(
    values: npt.NDArray[np.uint64], bits: int, max_distance: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Pairs that agree on these bits and differ in at most `max_distance` bits over all.

    values : in ascending order

    Neighbours in the order by (band, value) are compared at growing offsets until no pair of that offset still
    shares a band: as many passes as the fullest bucket has members.
    """
    band = values & np.uint64(bits)
    order = np.argsort(band, kind="stable")
    band, value = band[order], values[order]
    left, right = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    alive = np.arange(len(values) - 1)
    offset = 1
    while len(alive):
        alive = alive[alive + offset < len(values)]
        alive = alive[band[alive] == band[alive + offset]]
        near = alive[np.bitwise_count(value[alive] ^ value[alive + offset]) <= max_distance]
        left.append(order[near])
        right.append(order[near + offset])
        # Equal hashes are linked through their neighbour; comparing further would be quadratic in a run of equals.
        alive = alive[value[alive] != value[alive + offset]]
        offset += 1
    return np.concatenate(left), np.concatenate(right)
