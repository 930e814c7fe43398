"""Suggest keywords for pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import CACHE, DATA, app


@app.command()
def annotate(
    images: Annotated[list[str], typer.Argument(help="pictures' files, or items of the collection")],
    words: Annotated[int, typer.Option(min=1, help="how many keywords an image")] = 5,
    method: Annotated[str | None, typer.Option(help="a fitted method; by default the one that validated best")] = None,
    to: Annotated[Path | None, typer.Option(help="also write image, keyword and score to this CSV file")] = None,
) -> None:
    """Suggest keywords for images, with their scores."""
    from mediarank import config
    from mediarank.asking.annotate import annotate as suggest
    from mediarank.asking.annotate import open_annotator
    from mediarank.asking.compare import described
    from mediarank.asking.search import with_codebooks
    from mediarank.features.cache import FeatureCache

    params = config.load()
    served, matrices = open_annotator(DATA, method)
    pictures = described(
        [image.removeprefix(f"{(DATA / 'raw/media').as_posix()}/") for image in images],
        matrices,
        lambda: with_codebooks({n: params.feature_type(n) for n in matrices}, DATA, FeatureCache(CACHE / "features")),
        params.frames,
        params.manifest.limits,
    )
    table = suggest(served, pictures, words)
    for image, found in table.groupby("query", sort=False):
        print(image)
        for word, score in zip(found["name"], found["score"], strict=True):
            print(f"{score:>10.4f}  {word}")
    if to is not None:
        store.write_csv(to, table.rename(columns={"query": "image", "name": "keyword"})[["image", "keyword", "score"]])
        print(f"Table: {to}")
