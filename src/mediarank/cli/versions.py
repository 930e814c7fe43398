"""Commands about versions: list them, go back to one, verify one, trace a number, compare two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank.cli.app import app, console
from mediarank.cli.json_output import Json, print_json

if TYPE_CHECKING:
    from rich.table import Table

REMOTE = Annotated[str | None, typer.Option(help="the DVC remote to fetch from; by default the project's own")]


@app.command()
def versions(
    last: Annotated[int, typer.Option(min=1, help="how many to list")] = 20,
    metric: Annotated[str | None, typer.Option(help="the metric to show, such as map")] = None,
    remote: REMOTE = None,
    json: Json = False,
) -> None:
    """List the versions of the data: what each changed, and how well it does."""
    from mediarank.ops.versions.history import describe, history
    from mediarank.ops.versions.objects import Objects

    root = Path.cwd()
    with Objects(root, remote) as objects:
        # One more than is shown, to compare the last one with.
        listed = describe(history(root, last + 1), objects)[:last]
    if json:
        print_json([entry.to_json() for entry in listed])
        return
    if not listed:
        print("There is no version yet: run dvc repro, then commit dvc.lock and params.yaml.")
        return
    print("\n".join(entry.summary(metric) for entry in listed))


@app.command()
def rollback(
    version: Annotated[str, typer.Argument(help="a commit or tag, as `mediarank versions` lists them")],
    remote: REMOTE = None,
) -> None:
    """Restore a version's data, params and lock, verify every file, and commit; this can be undone the same way."""
    from mediarank.ops.versions.rollback import rollback as run

    print(run(Path.cwd(), version, remote, say=print).summary())


@app.command()
def verify(remote: REMOTE = None) -> None:
    """Read every file of the data, compare it with its hash, and fetch again what is damaged."""
    from mediarank.ops.versions.verify import verify as run

    verified = run(Path.cwd(), remote, say=print)
    print(verified.summary())
    raise typer.Exit(1 if verified.gone else 0)


@app.command()
def lineage(
    run: Annotated[str, typer.Argument(help="a run's id or the beginning of it, its name, or a version")] = "",
    metric: Annotated[str, typer.Option(help="one metric, such as retrieval/arow/map; by default all")] = "",
    items: Annotated[bool, typer.Option("--items", help="print the items as CSV instead")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON instead")] = False,
    file: Annotated[str, typer.Option(help="an item, a file or its sha256: list the runs that used it")] = "",
    remote: REMOTE = None,
) -> None:
    """Show which media files, labels, params and code made a run's metrics; or which runs used a file."""
    import json

    from mediarank.ops.runs.lineage import trace, uses
    from mediarank.ops.runs.recorded_runs import Runs
    from mediarank.ops.versions.objects import Objects
    from mediarank.types import ConfigError

    if bool(run) == bool(file):
        raise ConfigError("Name either a run, to see what made it, or a file (--file), to see which runs used it.")
    root = Path.cwd()
    runs = Runs(root)
    with Objects(root, remote) as objects:
        if file:
            found, unknown = uses(runs, objects, file)
            for use in found:
                print(f"{use.run}: {use.item_id} {use.role or use.status}")
            for other in unknown:
                print(f"{other}: not known, its data is neither in the cache nor in the remote")
            if not found:
                print(f"No recorded run used {file}.")
            return
        traced = trace(root, runs, objects, run, metric)
    if as_json:
        print(json.dumps(traced.to_json(), indent=2))
    elif items:
        print(traced.items.to_csv(index=False), end="")
    else:
        print(traced.summary())


@app.command("compare-runs")
def compare_runs(
    before: Annotated[str, typer.Argument(help="a run's id or the beginning of it, its name, or a version")],
    after: Annotated[str, typer.Argument(help="the other one")],
    every_metric: Annotated[
        bool, typer.Option("--all", help="every metric, not only the first of each system")
    ] = False,
    remote: REMOTE = None,
    json: Json = False,
) -> None:
    """Print what changed in data, params, code and metrics between two runs, and whether it is more than noise."""

    from mediarank.ops.runs.compare_runs import compare_runs as run
    from mediarank.ops.runs.recorded_runs import Runs
    from mediarank.ops.versions.objects import Objects

    root = Path.cwd()
    with Objects(root, remote) as objects:
        found = run(Runs(root), objects, before, after, every_metric=every_metric)
    if json:
        print_json({**vars(found), "metrics": found.metrics})
        return
    print(found.summary())
    table = _table("system", "method", "metric", "before", "after", "change", "queries", "p", "")
    for row in found.metrics:
        numbers = (f"{row.before:.4f}", f"{row.after:.4f}", f"{row.change:+.4f}", str(row.queries), f"{row.p:.3g}")
        table.add_row(row.system, row.method, row.metric, *numbers, row.verdict)
    if found.metrics:
        shown = console()
        shown.width = max(shown.width, shown.measure(table, options=shown.options.update(width=1000)).maximum)
        shown.print(table)  # a terminal that is narrower wraps lines; cut figures would say nothing


def _table(*columns: str) -> Table:
    """A table without a frame; cells are not wrapped, so that lines stay whole."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table
