"""Show how a file is described: the vectors that the pipeline would give it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app, console
from mediarank.cli.opened import workspace


@app.command()
def describe(
    files: Annotated[list[Path], typer.Argument(help="pictures, clips or sounds")],
    json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Show the vectors of files, and how far they are from those of items with the same content (0)."""
    from dataclasses import asdict
    from itertools import groupby
    from json import dumps

    from rich.table import Table

    from mediarank import config
    from mediarank.asking.describe import compare_with_items

    found = compare_with_items(workspace(), files, tuple(config.load().features))
    if json:
        print(dumps([asdict(one) for one in found], indent=2))
        return
    for file, rows in groupby(found, key=lambda one: one.file):
        described = list(rows)
        item = described[0].item
        print(f"{file}: {f'the same content as {item}' if item else 'not in the collection'}")
        view = Table("feature", "vectors", "numbers each", "hash", *(["greatest difference"] if item else []))
        for one in described:
            difference = [] if one.difference is None else [f"{one.difference:g}"]
            view.add_row(one.feature, str(one.rows), str(one.dimensions), one.digest[:12], *difference)
        console().print(view)
