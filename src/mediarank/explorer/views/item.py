"""One item: large, playing, with its labels, suggestions, attributes, near-duplicates and where it comes from."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank.asking.items import Asked
from mediarank.asking.scores import scores_of
from mediarank.explorer.app import Explorer, explorer_of
from mediarank.types import MediarankError

router = APIRouter()
WORDS: Final = 8
"""Keywords that are suggested."""


@router.get("/item")
def item(request: Request, item: str) -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    row = snapshot.row(item)
    place = snapshot.place[item]
    ids = snapshot.items["item"]
    return explorer.page(
        "item.html",
        "/",
        item=item,
        row=row,
        labels=snapshot.labels_of.get(item, []),
        alike=[other for other in snapshot.groups.get(row["group"], []) if other != item],
        words=suggested(explorer, item),
        attributes=strengths(explorer, place),
        before=ids.iloc[place - 1] if place else None,
        after=ids.iloc[place + 1] if place + 1 < len(ids) else None,
        original=snapshot.workspace.data / "raw/media" / item,
    )


def suggested(explorer: Explorer, item: str) -> list[tuple[str, float]]:
    """Keywords that fit, best first; none where the item or the collection can't be annotated."""
    workspace = explorer.snapshot.workspace
    if "annotation" not in explorer.snapshot.names:
        return []
    try:
        scores = scores_of(workspace, "annotation", [Asked(item, item=item)])[0]
    except MediarankError:
        return []
    names = workspace.model("annotation").names
    return [(names[k], float(scores[k])) for k in np.argsort(-scores, kind="stable")[:WORDS]]


def strengths(explorer: Explorer, place: int) -> list[dict[str, Any]]:
    """Per attribute where the item stands between the weakest and the strongest, in percent."""
    found = []
    for name in explorer.snapshot.names.get("attributes", ()):
        values = explorer.strength(name)
        if not np.isnan(values[place]):
            known = values[~np.isnan(values)]
            found.append({"name": name, "percent": round(100 * float((known < values[place]).mean()))})
    return found
