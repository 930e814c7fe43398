"""Results, settings, pictures of features, and the caches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import CACHE, DATA, app, console
from mediarank.cli.json_output import Json, print_json


@app.command()
def results(json: Json = False) -> None:
    """Print how well each system's methods do, and the path of the report."""
    from rich.table import Table

    from mediarank import config

    if json:
        print_json({name: store.read_measured(DATA / "evaluation" / name)[1] for name in config.load().systems})
        return
    for name in config.load().systems:
        summary = store.read_measured(DATA / "evaluation" / name)[1]
        if not len(summary):
            facts = store.read_json(DATA / "systems" / name / "model.json")
            print(f"{name}: {facts.get('skipped') or 'fitted, but not measured. ' + facts.get('warning', '')}")
            continue
        view = Table("method", *summary["metric"].unique(), title=name, title_justify="left")
        for method, rows in summary.groupby("method", sort=False):
            view.add_row(str(method), *(f"{mean:.3f}" for mean in rows["mean"]))
        console().print(view)
    print(f"Report: {DATA / 'report/report.html'}")


@app.command()
def params(schema: Annotated[bool, typer.Option(help="print the JSON schema instead")] = False) -> None:
    """Print the effective configuration, defaults included, or its JSON schema."""
    import json

    import yaml

    from mediarank import config

    if schema:
        print(json.dumps(config.schema(), indent=2))
    else:
        print(yaml.safe_dump(config.load().check(), sort_keys=False, allow_unicode=True), end="")


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="an image, clip or sound")],
    to: Annotated[Path | None, typer.Option(help="where to write the figure; by default a PNG in this folder")] = None,
) -> None:
    """Draw what each feature family sees in a file."""
    import numpy as np

    from mediarank import config
    from mediarank.asking.describe import Copying, look
    from mediarank.cli.opened import copying
    from mediarank.features.pictures import explain

    picture, sound = look(file, copying() if config.PARAMS.exists() else Copying())
    target = to or Path(f"{file.stem}.features.png")
    grey = np.full((64, 64, 3), 128, np.uint8)  # stands for the picture that a sound lacks
    explain(grey if picture is None else picture, sound).savefig(target)
    print(target)


@app.command()
def cache(
    prune: Annotated[float | None, typer.Option(help="keep at most this many MB, the most recently used")] = None,
    json: Json = False,
) -> None:
    """Show the caches of headers, working copies and feature vectors, or prune them."""
    from mediarank.content_cache import ContentCache
    from mediarank.features.cache import FeatureCache

    vectors, copies = FeatureCache(CACHE / "features"), ContentCache(CACHE / "frames")
    if prune is not None:
        gone = vectors.prune(int(prune * 1e6)) + copies.prune(int(prune * 1e6))
        print(f"{gone} entries removed")
    if json:
        print_json({"vectors": vectors.statistics(), "working_copies": copies.statistics()})
        return
    for row in vectors.statistics().itertuples():
        print(f"{row.family:<20} {row.entries:>8} vectors {row.bytes / 1e6:>10.1f} MB")  # type: ignore[operator]
    for row in copies.statistics().itertuples():
        print(f"{row.family:<20} {row.entries:>8} items   {row.bytes / 1e6:>10.1f} MB")  # type: ignore[operator]
