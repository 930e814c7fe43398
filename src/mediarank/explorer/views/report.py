"""The report of the last run, as it is: one page with its own styles, under a policy of its own."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from mediarank.explorer.app import explorer_of
from mediarank.types import DataError

router = APIRouter()
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
}
"""The report runs no script; its styles are inside the page."""


@router.get("/report")
def report(request: Request) -> Response:
    path = explorer_of(request).root / "data/report/report.html"
    if not path.is_file():
        raise DataError("There is no report yet. Run the pipeline: `make run`.")
    return FileResponse(path, media_type="text/html; charset=utf-8", headers=HEADERS)
