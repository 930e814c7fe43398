"""Compare two pictures by an attribute, or sort the collection by it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import CACHE, DATA, app

Image = Annotated[str, typer.Argument(help="an item of the collection, or a picture's file")]
Attribute = Annotated[str, typer.Option(help="one of those that labels/orderings.csv or labels/pairs.csv name")]


@app.command()
def compare(first: Image, second: Image, attribute: Attribute) -> None:
    """Say which of two pictures shows more of an attribute, and by how much."""
    from mediarank import config
    from mediarank.asking.compare import described, judge, open_model
    from mediarank.asking.search import with_codebooks
    from mediarank.features.cache import FeatureCache

    params = config.load()
    model, matrices = open_model(DATA, attribute)
    first, second = (name.removeprefix(f"{(DATA / 'raw/media').as_posix()}/") for name in (first, second))
    features = described(
        [first, second],
        matrices,
        lambda: with_codebooks({n: params.feature_type(n) for n in matrices}, DATA, FeatureCache(CACHE / "features")),
        params.frames,
        params.manifest.limits,
    )
    answer = judge(model, features, attribute, first, second)
    print(answer)
    print(f"margin {abs(answer.margin):.3f} (training asks for 1 between pictures of different {attribute})")


@app.command()
def sort(
    attribute: Attribute,
    to: Annotated[Path, typer.Option(help="the files to write, with .csv and .html")] = Path("sorted"),
    count: Annotated[int, typer.Option(min=2, help="thumbnails on the page")] = 100,
) -> None:
    """Write the collection in order of an attribute, with a page of thumbnails from weakest to strongest."""
    from mediarank import config
    from mediarank.asking.compare import in_order, open_model, order_page
    from mediarank.stages.report import thumbnails

    order = in_order(*open_model(DATA, attribute), attribute)
    table, page = to.with_suffix(".csv"), to.with_suffix(".html")
    store.write_csv(table, order)
    side = config.load().report.thumbnail_side
    thumbnail = thumbnails(store.read_table(DATA / "frames/frames.parquet"), DATA / "frames/media", side)
    store.write_text(page, order_page(attribute, order, thumbnail, count))
    print(f"{len(order)} items from weakest to strongest: {table}\nPage: {page}")
