"""The collection as a grid that filters and sorts; every state is a link."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Explorer, Fields, explorer_of, local
from mediarank.explorer.filters import FACETS, ORDERS, Choice, Shown
from mediarank.explorer.measures import FINDERS

router = APIRouter()
WINDOW: Final = 120
"""Items that are sent at a time."""
VALUES: Final = 12
"""Values of a facet that are listed before the rest is folded."""
NAMES: Final = {"year": "taken in", "alike": "near-duplicates", "quarantine": "quarantine"}
FACET_OF: Final = {"concepts": "concept", "events": "event"}
"""System -> the facet of its names."""


@router.get("/")
def collection(request: Request) -> Response:
    explorer = explorer_of(request)
    choice = Choice.of(request.query_params.multi_items())
    if "likely" in request.query_params:  # the form's two fields become one value, so that the address says it all
        return RedirectResponse(choice.address(), 303)
    shown, snapshot = explorer.choose(choice), explorer.snapshot
    named = [(FACET_OF[system], name) for system in FINDERS[::-1] for name in snapshot.names.get(system, ())]
    orders = [*ORDERS, *(f"attribute:{name}" for name in snapshot.names.get("attributes", ()))]
    orders += [f"score:{name}" for _, name in named]
    given = request.query_params.get("from", "")
    start = (int(given) if given.isdecimal() else 0) // WINDOW * WINDOW
    return explorer.page(
        "collection.html",
        "/",
        choice=choice,
        shown=shown,
        total=len(snapshot.items) if "quarantine" in choice.wanted else int(snapshot.usable.sum()),
        tiles=tiles(explorer, shown, start),
        start=start,
        window=WINDOW,
        facets=[name for name in FACETS if name in shown.counts or name in choice.wanted or name in choice.refused],
        facet_names=NAMES,
        listed=VALUES,
        orders=orders,
        named=named,
    )


@router.get("/grid")
def grid(request: Request, start: int = 0, count: int = WINDOW) -> Response:
    """One window of the grid; the page asks for whole rows."""
    explorer = explorer_of(request)
    shown = explorer.choose(Choice.of(request.query_params.multi_items()))
    return explorer.part("_tiles.html", tiles=tiles(explorer, shown, max(0, start), min(max(1, count), 2 * WINDOW)))


@router.post("/renew")
def renew(request: Request, fields: Fields) -> Response:
    """Show the version that lies on disk now."""
    explorer_of(request).snapshots.renew()
    return RedirectResponse(local(fields.get("back", ["/"])[0]), 303)


def tiles(explorer: Explorer, shown: Shown, start: int, count: int = WINDOW) -> list[dict[str, object]]:
    """What a tile shows of each item."""
    table = explorer.snapshot.items.iloc[shown.rows[start : start + count]]
    return [
        {"item": item, "kind": kind, "name": item.rpartition("/")[2], "seconds": seconds, "bad": bool(reason)}
        for item, kind, seconds, reason in table[["item", "kind", "seconds", "quarantine"]].itertuples(index=False)
    ]
