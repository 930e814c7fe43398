"""The command that runs everything: all stages, in parallel where possible, then tracking and results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app

NEXT = """
Next:
  open data/report/report.html in a browser
  bin/mediarank find boat                     which pictures show a boat; --help lists the other questions
  make up                                     the web pages: explorer, scheduled runs, comparison of runs
  bin/mediarank init ~/Pictures               your own pictures; then make run again"""


@app.command()
def run(
    track: Annotated[bool, typer.Option(help="record the run in MLflow")] = True,
    jobs: Annotated[int | None, typer.Option(min=1, help="processes at a time; by default one per core")] = None,
) -> None:
    """Run every stage that is out of date, on all cores, record the run and print the results."""
    import os

    from mediarank.ops.runs.side_by_side import run_stages
    from mediarank.ops.runs.workspace_run import TRACK, Done

    if jobs is not None:
        os.environ["MEDIARANK_JOBS"] = str(jobs)
    done = run_stages(Path.cwd(), lambda line: print(line, flush=True), (TRACK,) if track else ())
    unchanged = sum(how is Done.CACHED for how in done.values())
    print(f"{len(done)} up to date, {unchanged} of them unchanged.\n")
    from mediarank.cli.overview import results

    results()
    print(NEXT)
