"""Join several groupings of the same items into one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def joined_groups(*groupings: Sequence[Hashable] | npt.NDArray[np.generic] | pd.Series) -> npt.NDArray[np.intp]:
    """A number for each item, equal for items that share a group in any grouping, directly or through others.

    groupings : each has one group per item, in the same order of items

    >>> joined_groups(["a", "a", "b", "c"], [1, 2, 2, 3]).tolist()
    [0, 0, 0, 3]
    """
    count = len(groupings[0])
    items = np.arange(count)
    ends, nodes = [], count
    for grouping in groupings:
        # Strings stay Python's own: a numpy array of them would be converted back.
        values = grouping if isinstance(grouping, np.ndarray) else np.asarray(grouping, dtype=object)
        number = pd.factorize(values)[0]
        ends.append(nodes + number)
        nodes += int(number.max(initial=-1)) + 1
    links = (np.tile(items, len(groupings)), np.concatenate(ends))
    graph = coo_array((np.ones(len(links[0]), dtype=np.int8), links), shape=(nodes, nodes))
    component = connected_components(graph, directed=False)[1][:count]
    _, first, number = np.unique(component, return_index=True, return_inverse=True)
    return np.asarray(first[number], dtype=np.intp)
