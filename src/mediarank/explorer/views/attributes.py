"""Attributes: the collection from weakest to strongest, two items side by side, and a game that teaches."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Fields, explorer_of, link
from mediarank.explorer.measures import strength
from mediarank.explorer.said import say_pair
from mediarank.explorer.snapshot import Snapshot

router = APIRouter()
STRIP: Final = 24
"""Items at even steps of the order."""


@router.get("/attributes")
def attributes(
    request: Request, name: str = "", first: str = "", second: str = "", round: int = 0, said: str = "", was: str = ""
) -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    names = snapshot.names.get("attributes", ())
    chosen = name if name in names else (names[0] if names else "")
    asked = first in snapshot.place and second in snapshot.place
    pairs = snapshot.labels["pairs"]
    return explorer.page(
        "attributes.html",
        "/attributes",
        names=names,
        name=chosen,
        strip=strip(snapshot, chosen) if chosen else [],
        compared=answer(snapshot, chosen, first, second) if chosen and asked else None,
        pair=pair(snapshot, chosen, round) if chosen else None,
        round=round,
        said=said,
        was=was,
        taught=int((pairs["attribute"] == chosen).sum()),
        why=snapshot.workspace.why_not("attributes"),
    )


@router.post("/attributes/say")
def say(request: Request, fields: Fields) -> Response:
    """Write which of the two shows more, and show what the model thought, with the next two."""
    snapshot = explorer_of(request).snapshot
    name, first, second, relation = (fields.get(key, [""])[0] for key in ("name", "first", "second", "relation"))
    for item in (first, second):
        snapshot.row(item)
    call = say_pair(snapshot, name, first, second, relation)
    more = answer(snapshot, name, first, second)["more"]
    given = fields.get("round", ["0"])[0]
    same = {">": "first", "<": "second", "=": ""}[relation] == more
    return RedirectResponse(
        link(
            "/attributes", name=name, round=(int(given) if given.isdecimal() else 0) + 1, said=call,
            was="agreed" if same else "said otherwise",
        ),
        303,
    )  # fmt: skip


def strip(snapshot: Snapshot, name: str) -> list[dict[str, object]]:
    """Items at even steps, weakest first."""
    values = strength(snapshot, name)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    steps = sorted({round(k) for k in np.linspace(0, len(order) - 1, min(STRIP, len(order))).tolist()})
    ids = snapshot.items["item"]
    return [{"item": ids.iloc[order[k]], "percent": round(100 * k / max(1, len(order) - 1))} for k in steps]


def answer(snapshot: Snapshot, name: str, first: str, second: str) -> dict[str, Any]:
    """Which of two items shows more, by the model."""
    values = strength(snapshot, name)
    one, other = (float(values[snapshot.place[item]]) for item in (first, second))
    more = "first" if one > other else "second" if other > one else ""
    return {"first": first, "second": second, "more": more, "margin": abs(one - other)}


def pair(snapshot: Snapshot, name: str, round: int) -> tuple[str, str] | None:
    """Two items near each other in the order, where an answer teaches most; another two in each round."""
    values = strength(snapshot, name)
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < 2:
        return None
    rng = np.random.default_rng([len(name), sum(map(ord, name)), abs(round)])
    order = known[np.argsort(values[known], kind="stable")]
    start = int(rng.integers(0, len(order) - 1))
    far = min(len(order) - 1, start + 1 + int(rng.integers(0, max(1, len(order) // 10))))
    one, other = order[[start, far]] if rng.random() < 0.5 else order[[far, start]]
    ids = snapshot.items["item"]
    return str(ids.iloc[one]), str(ids.iloc[other])
