"""Find what shows a concept or an event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mediarank.cli.app import app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import Method, own_names, thumbnails, workspace, write_page


@app.command()
def find(
    name: Annotated[str, typer.Argument(help="a concept or an event, as the labels call it")],
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
    system: Annotated[
        Literal["concepts", "events"] | None,
        typer.Option(help="the system to ask; by default the first that knows it"),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="leave out items that are already labelled with it")] = False,
    method: Method = None,
    precision: Annotated[
        float | None,
        typer.Option(min=0.01, max=1, help="draw the line so that this share above it fits; by default best F1"),
    ] = None,
    to: Annotated[Path, typer.Option(help="where to write the page of thumbnails")] = Path("find.html"),
    json: Json = False,
) -> None:
    """Show which items show a concept, or in which clips an event happens, and write a page of thumbnails."""
    from mediarank.asking.find import FINDERS, finds_page
    from mediarank.asking.find import find as ask

    space = workspace()
    finds = ask(space, name, count, fresh, (system,) if system else FINDERS, method, precision)
    if json:
        print_json(finds)
        return
    named = own_names(space)
    for rank, found in enumerate(finds.best, start=1):
        chance = "" if found.probability is None else f"  {found.probability:>4.0%}"
        print(f"{rank:>4}  {found.score:8.3f}{chance}  {named(found.item)}{'  (labelled)' * found.labelled}")
        if finds.cut is not None and rank == finds.cut.count:
            print("      ---- the line: items below it probably do not show it ----")
    if finds.line:
        print(finds.line)
    print(f"By {finds.method} of {finds.system}, {finds.work}.")
    write_page(to, finds_page(finds, thumbnails(space)))
