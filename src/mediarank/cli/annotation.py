"""Suggest keywords for pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import Method, asked, workspace


@app.command()
def annotate(
    images: Annotated[list[str], typer.Argument(help="files, or items of the collection")],
    words: Annotated[
        int | None, typer.Option(min=1, help="how many keywords per image; by default the probable ones")
    ] = None,
    method: Method = None,
    to: Annotated[Path | None, typer.Option(help="also write image, keyword and score to this CSV file")] = None,
    json: Json = False,
) -> None:
    """Suggest keywords for images, with their scores."""
    from mediarank.asking.annotate import annotate as suggest

    space = workspace()
    table = suggest(space, asked(space, images), words, method)
    if json:
        print_json(table.rename(columns={"query": "image", "name": "keyword"}))
    for image, found in () if json else table.groupby("query", sort=False):
        print(image)
        for word, score, chance in zip(found["name"], found["score"], found["probability"], strict=True):
            print(f"{score:>10.4f}  {word}" if chance != chance else f"{chance:>10.0%}  {word}")
    if to is not None:
        store.write_csv(to, table.rename(columns={"query": "image", "name": "keyword"})[["image", "keyword", "score"]])
        if not json:
            print(f"Table: {to}")
