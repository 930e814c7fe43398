"""Versions and runs: what changed, how good each is, comparing two, starting the pipeline, and going back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Fields, explorer_of, link
from mediarank.explorer.running import RUNNING
from mediarank.ops.services.processes import read_records
from mediarank.ops.versions.history import Described, describe, headlines, history, version_metrics
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError, MediarankError

router = APIRouter()
LISTED = 20


@router.get("/versions")
def versions(request: Request, done: str = "") -> Response:
    explorer = explorer_of(request)
    rows: list[dict[str, object]] = []
    problem = ""
    try:
        with Objects(explorer.root, None) as objects:
            rows = [_row(entry, objects) for entry in describe(history(explorer.root, LISTED + 1), objects)[:LISTED]]
    except MediarankError as error:
        problem = str(error)
    return explorer.page(
        "versions.html",
        "/versions",
        rows=rows,
        problem=problem,
        running=RUNNING.state(explorer.root),
        done=done,
        services=services(explorer.root),
    )


def _row(entry: Described, objects: Objects) -> dict[str, object]:
    metrics = entry.metrics
    if (
        metrics is None
    ):  # what changed may be unknown because the version before is gone, and the figures still be there
        with suppress(DataError):
            metrics = version_metrics(entry.version.lock, objects)
    return {
        "version": entry.version,
        "name": entry.version.tags[0] if entry.version.tags else entry.version.commit[:9] or "not committed",
        "changes": entry.changes.summary() if entry.changes is not None else "",
        "same_as": entry.same_as,
        "figures": [(system, *best) for system, best in sorted(headlines(metrics or {}).items())],
    }


def services(root: Path) -> dict[str, str]:
    """Name -> address of the web pages that `make up` has started and that still run."""
    return {name: r.address for name, r in read_records(root).items() if r.address and r.alive and name != "explorer"}


@router.get("/versions/running")
def running(request: Request) -> Response:
    """Where the pipeline is."""
    explorer = explorer_of(request)
    return explorer.part("_running.html", running=RUNNING.state(explorer.root))


@router.get("/versions/runs")
def runs(request: Request, before: str = "", after: str = "") -> Response:
    """The runs that MLflow recorded; two of them side by side, with what is noise."""
    from mediarank.ops.runs.compare_runs import Comparison, compare_runs
    from mediarank.ops.runs.recorded_runs import Run, Runs

    explorer = explorer_of(request)
    listed: list[Run] = []
    compared: Comparison | None = None
    problem, experiment = "", ""
    try:
        recorded = Runs(explorer.root)
        listed, experiment = recorded.all()[:LISTED], recorded.experiment
        if before and after:
            with Objects(explorer.root, None) as objects:
                compared = compare_runs(recorded, objects, before, after)
    except MediarankError as error:
        problem = str(error)
    mlflow = services(explorer.root).get("mlflow", "")
    return explorer.page(
        "runs.html",
        "/versions",
        runs=[(run, sorted(headlines(run.metrics).items())) for run in listed],
        compared=compared,
        before=before or (listed[1].run_id if len(listed) > 1 else ""),
        after=after or (listed[0].run_id if listed else ""),
        problem=problem,
        mlflow=f"{mlflow}/#/experiments/{experiment}/runs/" if mlflow and experiment else "",
    )


@router.post("/versions/run")
def run(request: Request, fields: Fields) -> Response:
    """Start the pipeline."""
    RUNNING.start(explorer_of(request).root)
    return RedirectResponse("/versions", 303)


@router.get("/versions/back")
def ask(request: Request, version: str) -> Response:
    """The question before a rollback."""
    explorer = explorer_of(request)
    with Objects(explorer.root, None) as objects:
        found = [e for e in describe(history(explorer.root, LISTED + 1), objects) if e.version.commit == version]
    if not found:
        raise DataError(f"There is no committed version {version[:9]}.")
    return explorer.page("rollback.html", "/versions", entry=found[0], version=version)


@router.post("/versions/back")
def back(request: Request, fields: Fields) -> Response:
    """Restore a version; what is there now stays in git and can be restored likewise."""
    from mediarank.ops.versions.rollback import rollback

    explorer = explorer_of(request)
    result = rollback(explorer.root, fields.get("version", [""])[0])
    explorer.snapshots.renew()
    return RedirectResponse(link("/versions", done=result.summary()), 303)
