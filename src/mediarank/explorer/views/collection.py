"""The collection as a grid that filters and sorts; every state is a link."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Explorer, checked_form, explorer_of
from mediarank.explorer.filters import FACETS, ORDERS, Choice, Shown, select

router = APIRouter()
WINDOW: Final = 120
"""Items that are sent at a time."""
VALUES: Final = 12
"""Values of a facet that are listed before the rest is folded."""
NAMES: Final = {"year": "taken in", "alike": "near-duplicates"}


@router.get("/")
def collection(request: Request) -> Response:
    explorer = explorer_of(request)
    choice = Choice.of(request.query_params.multi_items())
    shown = chosen(explorer, choice)
    orders = [*ORDERS, *(f"attribute:{name}" for name in explorer.snapshot.names.get("attributes", ()))]
    start = max(0, int(request.query_params.get("from", "0") or 0)) // WINDOW * WINDOW
    return explorer.page(
        "collection.html",
        "/",
        choice=choice,
        shown=shown,
        total=len(explorer.snapshot.items),
        tiles=tiles(explorer, shown, start),
        start=start,
        window=WINDOW,
        facets=[name for name in FACETS if name in shown.counts or name in choice.wanted or name in choice.refused],
        facet_names=NAMES,
        listed=VALUES,
        orders=orders,
    )


@router.get("/grid")
def grid(request: Request, start: int = 0) -> Response:
    """One window of the grid."""
    explorer = explorer_of(request)
    shown = chosen(explorer, Choice.of(request.query_params.multi_items()))
    return explorer.part("_tiles.html", tiles=tiles(explorer, shown, max(0, start)))


@router.post("/renew")
async def renew(request: Request) -> Response:
    """Show the version that lies on disk now."""
    fields = await checked_form(request)
    explorer_of(request).snapshots.renew()
    return RedirectResponse(local(fields.get("back", ["/"])[0]), 303)


def chosen(explorer: Explorer, choice: Choice) -> Shown:
    return select(explorer.snapshot, choice, explorer.strength)


def tiles(explorer: Explorer, shown: Shown, start: int, count: int = WINDOW) -> list[dict[str, object]]:
    """What a tile shows of each item."""
    table = explorer.snapshot.items.iloc[shown.rows[start : start + count]]
    return [
        {"item": item, "kind": kind, "name": item.rpartition("/")[2], "class": label, "seconds": seconds}
        for item, kind, label, seconds in table[["item", "kind", "class", "seconds"]].itertuples(index=False)
    ]


def local(address: str) -> str:
    """An address on this server; anything else becomes the first page."""
    return address if address.startswith("/") and not address.startswith("//") and "\\" not in address else "/"
