"""The pipeline as a Prefect flow: a task run a stage, in parallel where `dvc.yaml` allows.

Nothing is decided here. DVC says which stages there are, what each waits for and what is out of date (through
`mediarank.ops.run`); Prefect shows it, tries again after passing faults and keeps the logs. `python flows/pipeline.py`
runs the flow once, on the server of `make up` if there is one; `flows/deployments.py` serves it on a schedule.
"""

# ruff: noqa: E402 - Prefect reads its settings when it is imported, so they come first
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mediarank.ops.children import RunStopped
from mediarank.ops.results import checks_markdown, metrics_rows, report_address
from mediarank.ops.run import TRACK, Done, FollowUp, PassingFault, PipelineRun, StageFailed
from mediarank.ops.script import settle

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    wait_for_server = settle(ROOT)

from prefect import State, Task, flow, get_run_logger, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.futures import PrefectFuture, wait
from prefect.states import Cancelled, Completed, Failed

FOLLOW_UPS: tuple[FollowUp, ...] = (TRACK,)
"""What is run when every stage is up to date."""


def _passing(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Only a fault of the machine is worth another attempt; a stage that failed would fail again."""
    return isinstance(state.data, PassingFault)


@task(
    name="step",
    task_run_name="{name}",
    retries=3,
    retry_delay_seconds=[1, 2, 4],
    retry_condition_fn=_passing,
    cache_policy=NO_CACHE,  # DVC knows better what can be left undone
)
def step(name: str, work: Callable[[Callable[[str], None]], Done]) -> State[None]:
    """Bring one stage up to date, or do what follows; a failed stage's own words are the state's message."""
    try:
        done = work(get_run_logger().info)
    except StageFailed as failure:
        return Failed(message=str(failure))
    except RunStopped as stopped:
        return Cancelled(message=str(stopped))
    return Completed(name="Cached" if done is Done.CACHED else "Completed", message=done.value)


@flow(name="pipeline")
def pipeline(workspace: str = str(ROOT), track: bool = True, stage_hours: float = 6.0) -> State[dict[str, str]]:
    """Bring every stage of the workspace up to date and record the result.

    workspace : the project's folder
    track : whether to record the run in MLflow
    stage_hours : how long a stage may take before it is ended
    """
    root = Path(workspace)  # a string in the signature: a served flow's parameters must be of built-in types
    tasks: dict[str, PrefectFuture[Any]] = {}
    with PipelineRun(root, get_run_logger().info, seconds=stage_hours * 3600) as run:
        for planned in run.stages:
            work = partial(run.bring_up_to_date, planned.address)
            upstream = [tasks[address] for address in planned.upstream]
            tasks[planned.address] = step.submit(planned.address, work, wait_for=upstream)
        for what in FOLLOW_UPS if track else ():
            tasks[what.name] = step.submit(what.name, partial(run.follow_up, what), wait_for=list(tasks.values()))
        wait(list(tasks.values()))
    publish_artifacts(root)
    return _verdict({name: future.state for name, future in tasks.items()})


def _verdict(states: dict[str, State[Any]]) -> State[dict[str, str]]:
    names = {name: state.name or state.type.value for name, state in states.items()}
    failed = [name for name, state in states.items() if state.is_failed() or state.is_crashed()]
    if failed:
        words = "".join(f"\n{states[name].message}" for name in failed)
        return Failed(message=f"{len(failed)} of {len(states)} failed: {', '.join(failed)}.{words}", data=names)
    cached = sum(name == "Cached" for name in names.values())
    return Completed(message=f"{len(states)} up to date, {cached} of them unchanged.", data=names)


def publish_artifacts(root: Path) -> None:
    """Show the metrics, the data checks and the way to the report beside the run."""
    if rows := metrics_rows(root):
        create_table_artifact(table=rows, key="metrics", description="Metrics by system and method")
    if text := checks_markdown(root):
        create_markdown_artifact(markdown=text, key="checks", description="Data checks")
    if address := report_address(root):
        create_link_artifact(link=address, link_text="report.html", key="report", description="The report of this run")


if __name__ == "__main__":
    from console import run_once

    wait_for_server()
    sys.exit(run_once(pipeline))
