"""Attributes: the collection from weakest to strongest, two items side by side, and a game that teaches."""

from __future__ import annotations

from typing import Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank.explorer.app import Explorer, explorer_of

router = APIRouter()
STRIP: Final = 24
"""Items at even steps of the order."""


@router.get("/attributes")
def attributes(request: Request, name: str = "", first: str = "", second: str = "", round: int = 0) -> Response:
    explorer = explorer_of(request)
    names = explorer.snapshot.names.get("attributes", ())
    chosen = name if name in names else (names[0] if names else "")
    return explorer.page(
        "attributes.html",
        "/attributes",
        names=names,
        name=chosen,
        strip=strip(explorer, chosen) if chosen else [],
        pair=pair(explorer, chosen, first, second, round) if chosen else None,
        round=round,
        why=explorer.snapshot.workspace.why_not("attributes"),
    )


def strip(explorer: Explorer, name: str) -> list[dict[str, object]]:
    """Items at even steps, weakest first."""
    values = explorer.strength(name)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    steps = sorted({round(k) for k in np.linspace(0, len(order) - 1, min(STRIP, len(order))).tolist()})
    ids = explorer.snapshot.items["item"]
    return [{"item": ids.iloc[order[k]], "percent": round(100 * k / max(1, len(order) - 1))} for k in steps]


def pair(explorer: Explorer, name: str, first: str, second: str, round: int) -> dict[str, object] | None:
    """Two items and which shows more: the ones asked for, or two near each other, where an answer teaches most."""
    values = explorer.strength(name)
    snapshot = explorer.snapshot
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < 2:
        return None
    if first in snapshot.place and second in snapshot.place:
        one, other = snapshot.place[first], snapshot.place[second]
    else:
        rng = np.random.default_rng([len(name), sum(map(ord, name)), round])
        order = known[np.argsort(values[known], kind="stable")]
        start = int(rng.integers(0, len(order) - 1))
        far = min(len(order) - 1, start + 1 + int(rng.integers(0, max(1, len(order) // 10))))
        one, other = order[[start, far]] if rng.random() < 0.5 else order[[far, start]]
    ids = snapshot.items["item"]
    more = "first" if values[one] > values[other] else "second" if values[other] > values[one] else ""
    margin = abs(float(values[one] - values[other]))
    return {"first": ids.iloc[one], "second": ids.iloc[other], "more": more, "margin": margin}
