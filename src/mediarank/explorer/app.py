"""The explorer's application: one warm process that serves every page.

`create_app` puts views, templates and checks together; `Explorer` is what the views share. Views are plain functions
that return HTML, registered by the `router` of each module in `views/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined

from mediarank.explorer.doors import TOKEN_FIELD, Doors, Guard
from mediarank.explorer.filters import Choice, Shown, select
from mediarank.explorer.measures import measure
from mediarank.explorer.snapshot import Snapshot, Snapshots
from mediarank.types import ConfigError, DataError, MediarankError

if TYPE_CHECKING:  # slow to import
    from mediarank.asking.describe import Copying

HERE: Final = Path(__file__).parent
PAGES: Final = (
    ("/", "Collection"),
    ("/find", "Find"),
    ("/search", "Search"),
    ("/attributes", "Attributes"),
    ("/review", "Review"),
    ("/versions", "Versions"),
    ("/quarantine", "Quarantine"),
)


@dataclass(eq=False)
class Explorer:
    """What every view needs: the snapshots, the checks at the door, and the templates.

    root : the project's folder; thumbnail_side : pixels of a thumbnail's longer side
    originals : the folder that the collection comes from
    """

    root: Path
    doors: Doors
    snapshots: Snapshots
    thumbnail_side: int = 240
    originals: Path | None = None

    def __post_init__(self) -> None:
        loader = PackageLoader("mediarank.explorer", "templates")
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.globals.update(pages=PAGES, page_token=self.doors.page_token, link=link)
        self._chosen = lru_cache(maxsize=32)(_select)

    @property
    def snapshot(self) -> Snapshot:
        return self.snapshots.current()

    def page(self, template: str, path: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from its template. path : of the navigation, to mark where we are"""
        newer = self.snapshots.newer()
        text = self.templates.get_template(template).render(here=path, newer=newer, **values)
        return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})

    def part(self, template: str, **values: Any) -> HTMLResponse:
        """A piece of a page, for our own scripts."""
        return HTMLResponse(
            self.templates.get_template(template).render(**values), headers={"Cache-Control": "no-store"}
        )

    def choose(self, choice: Choice) -> Shown:
        """The items of a choice; the windows of one grid ask for the same choice many times."""
        return self._chosen(self.snapshot, tuple(choice.pairs()))


def _select(snapshot: Snapshot, pairs: tuple[tuple[str, str], ...]) -> Shown:
    return select(snapshot, Choice.of(pairs), partial(measure, snapshot))


def create_app(
    root: Path,
    doors: Doors,
    copying: Callable[[], Copying],
    thumbnail_side: int = 240,
    originals: Path | None = None,
) -> FastAPI:
    """The application over a project's folder. originals : the folder that the collection comes from"""
    from mediarank.explorer.views import ROUTERS

    app = FastAPI(title="mediarank", openapi_url=None, docs_url=None, redoc_url=None)
    explorer = Explorer(root, doors, Snapshots(root, copying), thumbnail_side, originals)
    app.state.explorer = explorer
    app.add_middleware(Guard, doors=doors)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    for router in ROUTERS:
        app.include_router(router)

    @app.exception_handler(MediarankError)
    def explain(request: Request, error: MediarankError) -> Response:
        status = 404 if isinstance(error, DataError) else 400
        if request.headers.get("x-part"):
            return HTMLResponse(str(error), status, media_type="text/plain; charset=utf-8")
        if isinstance(error, DataError | ConfigError):
            return explorer.page("error.html", "", status, message=str(error))
        return explorer.page("error.html", "", 500, message=str(error))

    return app


def explorer_of(request: Request) -> Explorer:
    found: Explorer = request.app.state.explorer
    return found


async def checked_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form that one of our pages sent; another page's is refused."""
    form = await request.form(max_files=0)
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        fields.setdefault(name, []).append(str(value))
    if not explorer_of(request).doors.has_page_token(fields.pop(TOKEN_FIELD, [""])[0]):
        raise ConfigError("The page is from an earlier start of the explorer. Load it again and repeat what you did.")
    return fields


Fields = Annotated[dict[str, list[str]], Depends(checked_form)]
"""The fields of a form, for views that change something; such views are plain functions, which may take their time."""


def link(path: str, **parameters: Any) -> str:
    """An address with its parameters escaped; a list gives one parameter per value."""
    pairs = [
        (name, value)
        for name, given in parameters.items()
        for value in (given if isinstance(given, list | tuple) else [given])
    ]
    return f"{quote(path)}?{urlencode(pairs)}" if pairs else quote(path)


def local(address: str) -> str:
    """An address on this server; anything else becomes the first page."""
    return address if address.startswith("/") and not address.startswith("//") and "\\" not in address else "/"


def with_parameters(address: str, **parameters: str) -> str:
    """An address of ours with some of its parameters set anew; empty ones are left out."""
    parts = urlsplit(local(address))
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in parameters]
    pairs = [*kept, *((name, value) for name, value in parameters.items() if value)]
    return f"{parts.path}?{urlencode(pairs)}" if pairs else parts.path
