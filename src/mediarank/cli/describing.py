"""Show how a file is described: the vectors that the pipeline would give it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app
from mediarank.cli.opened import workspace


@app.command()
def describe(
    files: Annotated[list[Path], typer.Argument(help="pictures, clips or sounds")],
    json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Show the vectors of files, and how far they are from those of items with the same content (0)."""
    from dataclasses import asdict
    from json import dumps

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from mediarank import config
    from mediarank.asking.describe import compare_with_items

    found = compare_with_items(workspace(), files, tuple(config.load().features))
    if json:
        print(dumps([asdict(one) for one in found], indent=2))
        return
    view = Table("file", "feature", "vectors", "numbers each", "hash", "same content as", "greatest difference")
    for one in found:
        difference = "" if one.difference is None else f"{one.difference:g}"
        item = escape(one.item or "not in the collection")
        view.add_row(
            escape(one.file), one.feature, str(one.rows), str(one.dimensions), one.digest[:12], item, difference
        )
    Console().print(view)
