"""One module per page. `ROUTERS` lists them."""

from __future__ import annotations

from typing import Final

from mediarank.explorer.views import attributes, collection, item, media, quarantine, search

ROUTERS: Final = (
    collection.router,
    item.router,
    media.router,
    search.router,
    attributes.router,
    quarantine.router,
)
