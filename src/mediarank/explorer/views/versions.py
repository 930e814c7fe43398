"""Versions and runs: what changed, how good each is, starting the pipeline, and going back after a question."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from mediarank.explorer.app import Fields, explorer_of, link
from mediarank.explorer.running import RUNNING
from mediarank.ops.versions.history import Described, describe, headlines, history
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError, MediarankError

router = APIRouter()
LISTED = 20


@router.get("/versions")
def versions(request: Request, done: str = "") -> Response:
    explorer = explorer_of(request)
    listed: list[Described] = []
    problem = ""
    try:
        with Objects(explorer.root, None) as objects:
            listed = describe(history(explorer.root, LISTED + 1), objects)[:LISTED]
    except MediarankError as error:
        problem = str(error)
    rows = [
        {
            "version": entry.version,
            "name": entry.version.tags[0] if entry.version.tags else entry.version.commit[:9] or "not committed",
            "changes": str(entry.changes) if entry.changes is not None else "",
            "same_as": entry.same_as,
            "figures": [
                (system, method, metric, value)
                for system, (method, metric, value) in sorted(headlines(entry.metrics or {}).items())
            ],
        }
        for entry in listed
    ]
    return explorer.page(
        "versions.html", "/versions", rows=rows, problem=problem, running=RUNNING.state(explorer.root), done=done
    )


@router.get("/versions/running")
def running(request: Request) -> Response:
    """Where the pipeline is."""
    explorer = explorer_of(request)
    return explorer.part("_running.html", running=RUNNING.state(explorer.root))


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
