"""Compare two pictures by an attribute, or sort the collection by it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import Example, Method, asked, thumbnails, workspace, write_page

Attribute = Annotated[str, typer.Option(help="an attribute that labels/orderings.csv or labels/pairs.csv names")]


@app.command()
def compare(first: Example, second: Example, attribute: Attribute, method: Method = None, json: Json = False) -> None:
    """Say which of two pictures shows more of an attribute, and by how much."""
    from mediarank.asking.compare import compare as run

    space = workspace()
    one, other = asked(space, [first, second])
    answer = run(space, attribute, one, other, method)
    if json:
        print_json(answer)
        return
    print(answer)
    print(f"margin {abs(answer.margin):.3f} (training asks for 1 between pictures of different {answer.attribute})")


@app.command()
def sort(
    attribute: Attribute,
    to: Annotated[Path, typer.Option(help="the files to write, with .csv and .html")] = Path("sorted"),
    count: Annotated[int, typer.Option(min=2, help="thumbnails on the page")] = 100,
    method: Method = None,
) -> None:
    """Write the collection in the order of an attribute, with a page of thumbnails from weakest to strongest."""
    from mediarank.asking.compare import in_order, order_page

    space = workspace()
    order = in_order(space, attribute, method)
    table = to.with_suffix(".csv")
    store.write_csv(table, order)
    print(f"{len(order)} items from weakest to strongest: {table}")
    write_page(to.with_suffix(".html"), order_page(attribute, order, thumbnails(space), count))
