"""Scores of what a person named: items by their stored vectors, files described as the pipeline would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mediarank.asking.items import Asked
from mediarank.asking.workspace import Workspace
from mediarank.types import DataError, Doubles, Floats


def scores_of(
    workspace: Workspace,
    system: str,
    asked: Sequence[Asked],
    names: Sequence[str] | None = None,
    method: str | None = None,
) -> Doubles:
    """Scores (asked, names) by a system's model, higher is better."""
    model = workspace.model(system)
    types = model.needs.features
    scores = np.empty((len(asked), len(model.names if names is None else names)))
    inside = [k for k, one in enumerate(asked) if one.path is None]
    if inside:
        collection = {kind: workspace.matrices[kind] for kind in types}
        items = sorted({asked[k].id for k in inside})
        _require(system, set(model.able(collection)), items, types)
        row = {item: k for k, item in enumerate(items)}
        scores[inside] = model.rank(collection, items, names, method)[[row[asked[k].id] for k in inside]]
    files = {f"file{k:05d}": one.path for k, one in enumerate(asked) if one.path is not None}
    if files:
        from mediarank.asking.describe import describe  # slow to import, and only files need it

        described = describe(workspace, files, types)
        able = set(model.able(described))
        _require(system, able, list(files), types, {f: str(path) for f, path in files.items()})
        outside = [k for k, one in enumerate(asked) if one.path is not None]
        scores[outside] = model.rank(described, sorted(files), names, method)
    return scores


def best(scores: Floats | Doubles, names: Sequence[str], queries: Sequence[str], count: int) -> pd.DataFrame:
    """query, rank, name, score: the `count` best of each query, ties in the order of the names."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    rows = [
        (query, rank, names[place], float(scores[k, place]))
        for k, query in enumerate(queries)
        for rank, place in enumerate(order[k].tolist(), start=1)
    ]
    return pd.DataFrame(rows, columns=["query", "rank", "name", "score"])


def _require(
    system: str, able: set[str], wanted: Sequence[str], types: Sequence[str], written: dict[str, str] | None = None
) -> None:
    lacking = [name for name in wanted if name not in able]
    if lacking:
        shown = ", ".join((written or {}).get(name, name) for name in lacking[:3])
        raise DataError(f"{system} needs {', '.join(types)}, but {shown} lacks at least one of these.")
