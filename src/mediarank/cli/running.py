"""The command that runs everything: all stages, in parallel where possible, then tracking and results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app


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
    print("\nNext:")
    for command, what in next_steps():
        print(f"  {command:<43} {what}".rstrip())


def next_steps() -> list[tuple[str, str]]:
    """What a user may do after a run, as commands that work on this collection."""
    from shlex import quote

    from mediarank import config
    from mediarank.cli.opened import workspace

    space = workspace()
    steps = [("open data/report/report.html in a browser", "")]
    if space.why_not("concepts") is None and (names := space.model("concepts").names):
        name = "boat" if "boat" in names else names[0]
        steps.append((f"bin/mediarank find {quote(name)}", "what shows it; --help lists the other questions"))
    elif space.why_not("retrieval") is None and (item := space.first_with(space.facts("retrieval")["features"])):
        steps.append((f"bin/mediarank search {quote(item)}", "what looks like it; clicks make it better"))
    steps.append(("make up", "the web pages: explorer, scheduled runs, comparison of runs"))
    if config.load().collection.source == "demo":
        steps.append(("bin/mediarank init ~/Pictures", "your own pictures; then make run again"))
    return steps
