"""What the parts of the retrieval benchmark leave behind: one file per part and fold, so that a run can be resumed.

A `FoldRows` holds one `Row` per variant and method with the average precision of every test query. `Results` keeps
them under a folder; a file made with other settings is made again. Tables are means over the folds that are there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.evaluation.protocols import compare

SERVED = "served"
"""The row that repeats what the system would serve."""


@dataclass(frozen=True)
class Row:
    """How one method did in one fold.

    variant : the choice of feature types; method : its name
    ap : average precision of every test query; validation : mAP of the validation queries
    seconds : processor seconds of training; chosen : the parameters
    """

    variant: str
    method: str
    ap: Sequence[float]
    validation: float = float("nan")
    seconds: float = 0.0
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @property
    def map(self) -> float:
        return float(np.nanmean(np.asarray(self.ap, dtype=np.float64)))


@dataclass(frozen=True)
class FoldRows:
    """fold : its number; queries : those that were tested; rows : one per variant and method; facts : anything else"""

    fold: int
    queries: Sequence[str]
    rows: Sequence[Row]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """folder : of the files, or None to keep nothing; settings : what the results depend on"""

    folder: Path | None
    settings: Mapping[str, Any]

    def once(self, part: str, fold: int, make: Callable[[], FoldRows]) -> FoldRows:
        """What a part found in a fold: from its file, or made now."""
        path = None if self.folder is None else self.folder / f"{part}-{fold}.json"
        settings = json.loads(json.dumps(self.settings))
        if path is not None and path.exists():
            kept = json.loads(path.read_text())
            if kept["settings"] == settings:
                rows = [Row(**row) for row in kept["rows"]]
                return FoldRows(kept["fold"], kept["queries"], rows, kept["facts"])
        made = make()
        if path is not None:
            store.write_text(path, json.dumps({"settings": settings, **asdict(made)}))
        return made


def table(folds: Sequence[FoldRows]) -> pd.DataFrame:
    """variant, method, map, spread (deviation over folds), validation, seconds: means over folds."""
    rows = [
        (row.variant, row.method, result.fold, row.map, row.validation, row.seconds)
        for result in folds
        for row in result.rows
    ]
    found = pd.DataFrame(rows, columns=["variant", "method", "fold", "map", "validation", "seconds"])
    groups = found.groupby(["variant", "method"], sort=False)
    means = groups[["map", "validation", "seconds"]].mean()
    means.insert(1, "spread", groups["map"].std(ddof=0))
    return means.reset_index()


def maps(folds: Sequence[FoldRows], variant: str) -> dict[str, float]:
    """method -> mAP of one variant, over folds."""
    found = table(folds)
    own = found[found["variant"] == variant]
    return {str(m): round(float(v), 4) for m, v in zip(own["method"], own["map"], strict=True)}


def variants(folds: Sequence[FoldRows]) -> list[str]:
    return list(dict.fromkeys(row.variant for result in folds for row in result.rows))


def best_by_validation(parts: Sequence[Sequence[FoldRows]], variant: str | None = None) -> float:
    """mAP of what validated best in each fold, over all methods of all parts, or of one variant of them."""
    by_fold: dict[int, list[Row]] = {}
    for result in (result for folds in parts for result in folds):
        own = [row for row in result.rows if row.method != SERVED and variant in (None, row.variant)]
        by_fold.setdefault(result.fold, []).extend(own)
    return round(float(np.mean([max(rows, key=lambda row: row.validation).map for rows in by_fold.values()])), 4)


def significance(folds: Sequence[FoldRows], against: str) -> pd.DataFrame:
    """Each method of the first variant against one, over all test queries of all folds."""
    first = variants(folds)[0]
    rows = [
        (row.method, f"{result.fold}:{query}", value)
        for result in folds
        for row in result.rows
        if row.variant == first
        for query, value in zip(result.queries, row.ap, strict=True)
    ]
    return compare(pd.DataFrame(rows, columns=["method", "query", "ap"]), against, seed=0)
