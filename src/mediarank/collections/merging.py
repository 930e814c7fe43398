"""Merge labels from several places; adding one place never drops another.

Places are in order of precedence. A later one adds what the earlier ones do not say; where it contradicts them, they
win, and a note says how often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from mediarank.labels import LABEL_KEYS, LABEL_TABLES, Labels


@dataclass(frozen=True)
class Found:
    """Labels found in one place.

    place : the file or kind of files, for messages
    preview : how it was read, in words
    """

    place: str
    labels: Labels
    preview: str = ""


def merged(found: Sequence[Found]) -> tuple[Labels, list[str]]:
    """All labels, and a note for each place whose rows were overruled by an earlier one."""
    tables, notes = {}, []
    for name, columns in LABEL_TABLES.items():
        keys = list(LABEL_KEYS[name])
        parts: list[pd.DataFrame] = []
        for source in found:
            rows = source.labels[name][list(columns)]
            if parts and len(rows):
                before = pd.concat(parts, ignore_index=True)
                known = rows.set_index(keys).index.isin(before.set_index(keys).index)
                same = pd.Series(list(rows.itertuples(index=False, name=None)), dtype=object).isin(
                    set(before.itertuples(index=False, name=None))
                )
                overruled = int((known & ~same.to_numpy()).sum())
                if overruled:
                    notes.append(f"{overruled} {name} from {source.place} contradict other labels and are left out")
                rows = rows[~known]
            if len(rows):
                parts.append(rows)
        if parts:
            tables[name] = pd.concat(parts, ignore_index=True)
    return Labels(tables), notes
