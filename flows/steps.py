"""Shared by the flows: one piece of work as a task run, the final state of all of them, and events.

Automations in the Prefect UI can forward an event by mail or to a chat; `docs/operations.md` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import State, Task, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import TaskRun
from prefect.events import emit_event
from prefect.states import Cancelled, Completed, Failed

from mediarank.ops.runs.results import decisions
from mediarank.ops.runs.stage_processes import RunStopped
from mediarank.ops.runs.workspace_run import Done, PassingFault, StageFailed

LONGEST = 24 * 3600
"""Seconds that a run may take: a run that hangs must not prevent the next scheduled run."""


def _passing(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Only a fault of the machine is retried; a stage that failed would fail again."""
    return isinstance(state.data, PassingFault)


def cause() -> str:
    """Why this run runs, and on which day: `nightly 2026-11-16`, or `by hand 2026-11-16`."""
    return f"{runtime.deployment.name or 'by hand'} {runtime.flow_run.scheduled_start_time:%Y-%m-%d}"


def call_run(name: str, tags: Iterable[str] = ()) -> None:
    """Name this run, and add tags to those of its deployment."""
    every = sorted({*runtime.flow_run.tags, *tags})
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(runtime.flow_run.id), name=name, tags=every)


@task(
    name="step",
    task_run_name="{name}{items}",
    retries=3,
    retry_delay_seconds=[1, 2, 4],
    retry_condition_fn=_passing,
    cache_policy=NO_CACHE,  # DVC decides what is up to date
)
def step(name: str, work: Callable[[Callable[[str], None]], Done], items: str = "") -> State[None]:
    """Bring one stage up to date, or run a command; if it fails, its last output is the state's message.

    items : what follows the name in the UI, such as ` · 846 items`
    """
    try:
        done = work(get_run_logger().info)
    except StageFailed as failure:
        return Failed(message=str(failure))
    except RunStopped as stopped:
        return Cancelled(message=str(stopped))
    return Completed(name="Cached" if done is Done.CACHED else "Completed", message=done.value)


def verdict(root: Path, what: str, states: Mapping[str, State[Any]]) -> State[dict[str, str]]:
    """The run's final state, which is also emitted as the event `mediarank.<what>.finished` or `.failed`."""
    names = {name: state.name or state.type.value for name, state in states.items()}
    failed = [name for name, state in states.items() if state.is_failed() or state.is_crashed()]
    if failed:
        words = "".join(f"\n{states[name].message}" for name in failed)
        message = f"{len(failed)} of {len(states)} failed: {', '.join(failed)}.{words}"
        tell(root, f"{what}.failed", failed=failed, message=message)
        return Failed(message=message, data=names)
    cached = sum(name == "Cached" for name in names.values())
    message = f"{len(states)} up to date, {cached} of them unchanged."
    tell(root, f"{what}.finished", message=message)
    return Completed(message=message, data=names)


def tell_decisions(root: Path) -> None:
    """Emit `mediarank.model.promoted` or `.kept` per system, and `mediarank.drift` if the data drifted too far."""
    for decision in decisions(root):
        tell(root, "model.promoted" if decision["promoted"] else "model.kept", **decision)
        moved = [movement for movement in decision["moved"] if movement["too_far"]]
        if moved:
            tell(root, "drift", system=decision["system"], moved=moved)


def tell(root: Path, what: str, **payload: Any) -> None:
    """Emit an event about the workspace."""
    resource = {"prefect.resource.id": f"mediarank.workspace.{root.resolve().name}", "mediarank.path": str(root)}
    emit_event(event=f"mediarank.{what}", resource=resource, payload=payload)
