"""One module per page. `ROUTERS` lists them."""

from __future__ import annotations

from typing import Final

from mediarank.explorer.views import collection, item, media

ROUTERS: Final = (collection.router, item.router, media.router)
