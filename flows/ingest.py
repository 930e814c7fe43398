"""Rank new files at once: run the stages up to `frames`, then ask the champions; no model is fitted.

The next full run adds the files to the collection's results.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from prefect import State, flow, get_run_logger
from prefect.artifacts import create_table_artifact
from prefect.futures import PrefectFuture, wait
from steps import LONGEST, call_run, cause, step, verdict

from mediarank.ops.runs.results import ingested_rows
from mediarank.ops.runs.workspace_run import PipelineRun

ROOT = Path(__file__).resolve().parents[1]
LAST = "frames"
"""The last stage that new files go through; after it, every feature can describe them."""


@flow(name="ingest", timeout_seconds=LONGEST)
def ingest(workspace: str = str(ROOT), stage_hours: float = 6.0) -> State[dict[str, str]]:
    """Make working copies of new files, and rank them with the champions.

    workspace : the project's folder
    stage_hours : how long a stage may take before it is ended
    """
    root = Path(workspace)
    tasks: dict[str, PrefectFuture[Any]] = {}
    why = cause()
    call_run(why)
    with PipelineRun(root, get_run_logger().info, seconds=stage_hours * 3600) as run:
        for planned in run.leading_to(LAST):
            work = partial(run.bring_up_to_date, planned.address)
            upstream = [tasks[address] for address in planned.upstream]
            tasks[planned.address] = step.submit(planned.address, work, wait_for=upstream)
        ranking = partial(run.command, "ingest", ("ingest",))
        tasks["ingest"] = step.submit("ingest", ranking, wait_for=list(tasks.values()))
        wait(list(tasks.values()))
    rows = ingested_rows(root)
    call_run(f"{why} · {len(rows)} rankings of new files" if rows else f"{why} · no new files")
    if rows:
        create_table_artifact(table=rows, key="ingested", description="The best for each new item")
    return verdict(root, "ingest", {name: future.state for name, future in tasks.items()})
