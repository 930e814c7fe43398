"""Fuse scores of base classifiers from any program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import app

TABLE = "CSV: item, relevant (1 or 0), event if there are several, and one column per classifier"


def _list(wanted: bool) -> None:
    if wanted:
        from mediarank.learners.fusion.fusion_methods import FUSIONS

        for name, kind in FUSIONS.items():
            print(f"{name:<22} {kind.what} (scores of training clips: {kind.source.replace('_', '-')})")
        raise typer.Exit


@app.command()
def fuse(
    source: Annotated[Path, typer.Argument(help=f"clips that the base classifiers were trained on. {TABLE}")],
    target: Annotated[Path, typer.Argument(help="labelled clips that they have not seen; the same columns")],
    clips: Annotated[Path, typer.Argument(help="clips to score; the same columns, relevant may be missing")],
    method: Annotated[
        str,
        typer.Option(
            help="a fusion; `--methods` lists them; `validated` chooses one by cross-validation over the second table"
        ),
    ] = "recycling",
    out_of_fold: Annotated[
        Path | None,
        typer.Option(help="cross-validated scores of the first table's clips, if the fusion needs them"),
    ] = None,
    to: Annotated[Path, typer.Option(help="where to write event, item, score")] = Path("fused.csv"),
    methods: Annotated[bool, typer.Option("--methods", help="list the fusions", is_eager=True, callback=_list)] = False,
) -> None:
    """Fuse scores of base classifiers, from CSV files: no media and no features needed."""
    from mediarank.asking.fuse import fuse as run
    from mediarank.asking.fuse import read_score_table

    fused = run(
        read_score_table(source, labelled=True),
        read_score_table(target, labelled=True),
        read_score_table(clips, labelled=False),
        method,
        read_score_table(out_of_fold, labelled=False) if out_of_fold else None,
    )
    store.write_csv(to, fused.scores)
    for name, figure in sorted(fused.validation.items(), key=lambda entry: -entry[1]):
        print(f"{name:<22} {figure:.3f}{' (chosen)' if name == fused.method else ''}")
    print(fused.weights.to_string(index=False))
    print(f"{len(fused.scores)} fused scores: {to}")
