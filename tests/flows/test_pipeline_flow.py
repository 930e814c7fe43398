"""The flow against plain `dvc repro`, on a real Prefect server with real stages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pipeline as flow_module
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterTaskRunId,
)
from prefect.client.schemas.objects import TaskRun
from prefect.states import State
from toy_project import STAGES, change, contents, ran

from mediarank.ops.runs import workspace_run as run_module
from mediarank.ops.runs.workspace_run import FollowUp, PassingFault

NOTE = FollowUp(
    "note",
    (sys.executable, "-c", "open('notes', 'a').write('noted\\n')"),
    reads=("dvc.lock",),
    keeps=("notes",),
)


@pytest.fixture(scope="module", autouse=True)
def _our_follow_up(prefect_server: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_module, "FOLLOW_UPS", (NOTE,))
        patch.setenv("MEDIARANK_JOBS", "2")  # stages that wait for each other need two, however many cores there are
        yield


def run(project: Path) -> State[Any]:
    state: State[Any] = flow_module.pipeline(workspace=str(project), return_state=True)
    return state


def names(state: State[Any]) -> dict[str, str]:
    found: dict[str, str] = state.result(raise_on_failure=False)
    return found


def task_runs(state: State[Any], count: int) -> dict[str, TaskRun]:
    """What the server knows of the run's tasks; it learns of them a moment after they ended."""
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[state.state_details.flow_run_id]))
    deadline = time.monotonic() + 240
    with get_client(sync_client=True) as client:
        while True:
            found = {r.name: r for r in client.read_task_runs(flow_run_filter=chosen)}
            # A task whose upstream failed stays in a state that is not final.
            settled = [r for r in found.values() if r.state and (r.state.is_final() or r.state.name == "NotReady")]
            if len(settled) == count or time.monotonic() > deadline:
                return found
            time.sleep(0.2)


@dataclass(frozen=True)
class Recorded:
    """One run, and what the project looked like after it."""

    state: State[Any]
    project: Path
    contents: dict[str, bytes]
    began: tuple[str, ...]
    """The stages whose commands this run started, in order."""
    notes: str


def record(project: Path) -> Recorded:
    before = len(ran(project))
    state = run(project)
    notes = (project / "notes").read_text()
    return Recorded(state, project, contents(project), tuple(ran(project)[before:]), notes)


# Four runs in one project, each the next one's beginning. Tests only read what was recorded, so their order is free.
@pytest.fixture(scope="module")
def first(new_project: Callable[[], Path]) -> Recorded:
    """A first run, in which both sides wait for each other."""
    project = new_project()
    (project / "meet").touch()
    return record(project)


@pytest.fixture(scope="module")
def second(first: Recorded) -> Recorded:
    """Nothing has changed."""
    return record(first.project)


@pytest.fixture(scope="module")
def changed(second: Recorded) -> Recorded:
    """One parameter has changed."""
    (second.project / "meet").unlink()
    change(second.project, "left", 20)
    return record(second.project)


@pytest.fixture(scope="module")
def changed_back(changed: Recorded) -> Recorded:
    """The parameter has its first value again."""
    change(changed.project, "left", 2)
    return record(changed.project)


def test_every_stage_is_a_task_run_and_the_edges_are_dvcs(first: Recorded) -> None:
    assert first.state.is_completed(), first.state.message
    assert names(first.state) == dict.fromkeys([*STAGES, "note"], "Completed")
    found = task_runs(first.state, 6)
    assert {name: r.state_name for name, r in found.items()} == dict.fromkeys([*STAGES, "note"], "Completed")
    address = {r.id: name for name, r in found.items()}
    edges = {
        name: {address[i.id] for inputs in r.task_inputs.values() for i in inputs if i.id in address}
        for name, r in found.items()
    }
    assert edges == {
        "source": set(),
        "sides@left": {"source"},
        "sides@right": {"source"},
        "join": {"sides@left", "sides@right"},
        "report": {"join"},
        "note": set(STAGES),
    }


def test_branches_run_at_the_same_time(first: Recorded) -> None:
    # Each side waited until the other one was there, and fails if it never comes.
    assert first.state.is_completed()
    assert (first.project / "left.here").exists()
    assert (first.project / "right.here").exists()


def test_what_a_stage_prints_is_in_its_log(first: Recorded) -> None:
    join = task_runs(first.state, 6)["join"]
    deadline = time.monotonic() + 240
    with get_client(sync_client=True) as client:
        while True:
            logs = client.read_logs(LogFilter(task_run_id=LogFilterTaskRunId(any_=[join.id])))
            lines = [log.message for log in logs]
            if "join speaks" in lines or time.monotonic() > deadline:
                break
            time.sleep(0.2)
    assert "join speaks" in lines
    assert "left speaks" not in lines


def test_a_run_is_named_by_its_cause_and_by_what_is_new(first: Recorded, second: Recorded) -> None:
    with get_client(sync_client=True) as client:
        runs = [client.read_flow_run(r.state.state_details.flow_run_id) for r in (first, second)]
    for run in runs:
        assert re.fullmatch(r"by hand \d{4}-\d\d-\d\d · no results", run.name)
    assert [run.tags for run in runs] == [["ran"], []]


def test_same_bytes_as_plain_repro(first: Recorded, finished_project: Path) -> None:
    assert first.state.is_completed()
    assert first.contents == contents(finished_project)


def test_second_run_is_all_cached(first: Recorded, second: Recorded) -> None:
    assert names(second.state) == dict.fromkeys([*STAGES, "note"], "Cached")
    assert task_runs(second.state, 6)["join"].state_name == "Cached"
    assert second.began == ()
    assert second.contents == first.contents
    assert second.notes == "noted\n"


def test_a_changed_parameter_reruns_what_depends_on_it(changed: Recorded) -> None:
    cached = {"source", "sides@right"}
    assert names(changed.state) == {s: "Cached" if s in cached else "Completed" for s in [*STAGES, "note"]}
    assert changed.began == ("left", "join", "report")
    assert b"left=20" in changed.contents["data/join.txt"]


def test_what_dvc_remembers_is_restored_without_running(first: Recorded, changed_back: Recorded) -> None:
    assert names(changed_back.state)["sides@left"] == "Completed"
    assert changed_back.began == ()
    assert changed_back.contents == first.contents
    assert "restored" in str(task_runs(changed_back.state, 6)["sides@left"].state.message)


def test_a_failed_stage_is_final_and_speaks_for_itself(finished_project: Path) -> None:
    change(finished_project, "right", 30)
    (finished_project / "broken").write_text("right")
    state = run(finished_project)
    assert state.is_failed()
    assert names(state) == {
        "source": "Cached",
        "sides@left": "Cached",
        "sides@right": "Failed",
        "join": "NotReady",
        "report": "NotReady",
        "note": "NotReady",
    }
    right = task_runs(state, 6)["sides@right"]
    assert right.state is not None
    assert right.state.message == (
        "sides@right failed (exit code 1).\n"
        "right speaks\nright refuses: 3 of 40 rows have no label; add them to labels.csv"
    )
    assert str(right.state.message) in str(state.message)
    assert right.run_count == 1
    assert ran(finished_project).count("right") == 2  # once by plain repro, once now
    assert not (finished_project / "notes").exists()


def test_a_passing_fault_is_tried_again(finished_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(finished_project, "report", 50)
    # DVC's note that a living process is just writing the output: the way contention looks from outside.
    busy = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    report = str(finished_project / "data/report/report.html")
    note = {"write": {report: {"pid": busy.pid, "cmd": "someone"}}, "read": {}}
    (finished_project / ".dvc/tmp/rwlock").write_text(json.dumps(note))

    class Met(PassingFault):
        def __init__(self, words: str) -> None:
            assert "is busy" in words
            busy.kill()
            busy.wait()
            super().__init__(words)

    monkeypatch.setattr(run_module, "PassingFault", Met)
    try:
        state = run(finished_project)
    finally:
        busy.kill()
    assert state.is_completed(), state.message
    assert names(state)["report"] == "Completed"
    assert task_runs(state, 6)["report"].run_count == 2
    assert ran(finished_project).count("report") == 2
