"""Find what shows a concept or an event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mediarank import store
from mediarank.cli.app import DATA, app


@app.command()
def find(
    name: Annotated[str, typer.Argument(help="a concept or an event, as the labels call it")],
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
    system: Annotated[
        Literal["concepts", "events"] | None, typer.Option(help="where both know the name; concepts come first")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="leave out what is labelled with it already")] = False,
    to: Annotated[Path, typer.Option(help="where to write the page of thumbnails")] = Path("find.html"),
) -> None:
    """Show which items show a concept, or in which clips an event happens, and write a page of thumbnails."""
    from mediarank import config
    from mediarank.asking.find import FINDERS, finds_page
    from mediarank.asking.find import find as ask
    from mediarank.stages.report import thumbnails

    finds = ask(DATA, name, count, fresh, (system,) if system else FINDERS)
    for rank, found in enumerate(finds.best, start=1):
        print(f"{rank:>4}  {found.score:8.3f}  {DATA / 'raw/media' / found.item}{'  (labelled)' * found.labelled}")
    print(f"By {finds.method} of {finds.system}.")
    side = config.load().report.thumbnail_side
    thumbnail = thumbnails(store.read_table(DATA / "frames/frames.parquet"), DATA / "frames/media", side)
    store.write_text(to, finds_page(finds, thumbnail))
    print(f"Page: {to}")
