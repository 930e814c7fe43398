"""One module per page. `ROUTERS` lists them."""

from __future__ import annotations

from typing import Final

from mediarank.explorer.views import (
    attributes,
    collection,
    find,
    item,
    media,
    quarantine,
    report,
    review,
    search,
    teach,
    versions,
)

ROUTERS: Final = (
    collection.router,
    item.router,
    media.router,
    find.router,
    search.router,
    attributes.router,
    review.router,
    teach.router,
    versions.router,
    quarantine.router,
    report.router,
)
