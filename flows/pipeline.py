"""The pipeline as a Prefect flow: one task run per stage, in parallel where `dvc.yaml` allows.

No decision is made here. DVC knows the stages, their dependencies and what is out of date (through
`mediarank.ops.runs.workspace_run`); Prefect shows it, retries after temporary faults and keeps the logs. `python
flows/pipeline.py` runs the flow once, on the server of `make up` if that runs; `flows/deployments.py` serves it on a
schedule.
"""

# ruff: noqa: E402 - Prefect reads its settings when it is imported, so they come first
from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from mediarank.ops.runs.flow_script import settle
from mediarank.ops.runs.results import (
    checks_markdown,
    decisions_markdown,
    failed_checks_markdown,
    item_count,
    metrics_rows,
    report_address,
    results_markdown,
    results_picture,
    run_title,
)
from mediarank.ops.runs.workspace_run import PROMOTE, TRACK, FollowUp, PipelineRun

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    wait_for_server = settle(ROOT)

from prefect import State, flow, get_run_logger
from prefect.artifacts import (
    create_image_artifact,
    create_link_artifact,
    create_markdown_artifact,
    create_table_artifact,
)
from prefect.futures import PrefectFuture, wait
from steps import LONGEST, call_run, cause, step, tell_decisions, verdict

TAGS = {"Completed": "ran", "Failed": "failed"}
"""What a run is tagged with if one of its tasks ended so."""
FOLLOW_UPS: tuple[FollowUp, ...] = (TRACK,)
"""Commands that are run when every stage is up to date."""


@flow(name="pipeline", timeout_seconds=LONGEST)
def pipeline(
    workspace: str = str(ROOT), track: bool = True, promote: bool = False, stage_hours: float = 6.0
) -> State[dict[str, str]]:
    """Bring every stage of the workspace up to date and record the result.

    workspace : the project's folder
    track : whether to record the run in MLflow
    promote : whether to let the new models become champions, if they are not worse and the data did not drift
    stage_hours : how long a stage may take before it is ended
    """
    root = Path(workspace)  # a string in the signature: a served flow's parameters must be of built-in types
    tasks: dict[str, PrefectFuture[Any]] = {}
    why = cause()
    call_run(why)
    items = f" · {count:,} items" if (count := item_count(root)) else ""
    with PipelineRun(root, get_run_logger().info, seconds=stage_hours * 3600) as run:
        for planned in run.stages:
            work = partial(run.bring_up_to_date, planned.address)
            upstream = [tasks[address] for address in planned.upstream]
            tasks[planned.address] = step.submit(planned.address, work, items, wait_for=upstream)
        for what in (*(FOLLOW_UPS if track else ()), *((PROMOTE,) if promote else ())):
            tasks[what.name] = step.submit(what.name, partial(run.follow_up, what), wait_for=list(tasks.values()))
        wait(list(tasks.values()))
    states = {name: future.state for name, future in tasks.items()}
    ended = {state.name or "" for state in states.values()}
    call_run(run_title(root, why, "Completed" in ended), [tag for name, tag in TAGS.items() if name in ended])
    publish_artifacts(root, everything="Completed" in ended)
    if promote and states[PROMOTE.name].name == "Completed":
        tell_decisions(root)
        create_markdown_artifact(markdown=decisions_markdown(root), key="promotion", description="Promotion and drift")
    return verdict(root, "run", states)


def publish_artifacts(root: Path, everything: bool = True) -> None:
    """Show the results, the data checks and the report beside the run; a failed check has a page to itself.

    everything : False for a run that had nothing to do, which should cost little
    """
    if text := results_markdown(root):
        create_markdown_artifact(markdown=text, key="results", description="What is new, and what is found how well")
    if everything and (picture := results_picture(root)):
        create_image_artifact(image_url=picture, key="results-picture", description="What is found how well")
    if everything and (rows := metrics_rows(root)):
        create_table_artifact(table=rows, key="metrics", description="Metrics by system and method")
    if text := failed_checks_markdown(root):
        create_markdown_artifact(markdown=text, key="failed-check", description="What stopped the run, and what to do")
    if text := checks_markdown(root):
        create_markdown_artifact(markdown=text, key="checks", description="Data checks")
    if address := report_address(root):
        create_link_artifact(link=address, link_text="The report", key="report", description="The report of this run")


if __name__ == "__main__":
    from console import run_once

    wait_for_server()
    sys.exit(run_once(pipeline))
