"""`python flows/pipeline.py` as people and programs use it: its table, its exit code, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from toy_project import STAGES, change, gone, ran, with_flows
from waiting import wait_for


@pytest.fixture
def start(prefect_server: str) -> Any:
    """Starts the script in a project, on the server of the tests."""
    started: list[subprocess.Popen[str]] = []

    def begin(project: Path, server: str = prefect_server) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "flows/pipeline.py"],
            cwd=project,
            env={**os.environ, "PREFECT_API_URL": server},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests that run in the background ignore interrupts, and so would their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def without_tracking(project: Path) -> Path:
    script = with_flows(project) / "flows/pipeline.py"
    text = script.read_text()
    assert "= (TRACK,)" in text
    script.write_text(text.replace("= (TRACK,)", "= ()"))
    return project


def test_two_runs_at_once_take_turns(
    start: Callable[[Path], subprocess.Popen[str]], new_project: Callable[[], Path]
) -> None:
    project = without_tracking(new_project())
    (project / "pause").write_text("report")
    first = start(project)
    wait_for((project / "report.here").exists)
    second = start(project)
    assert second.stderr is not None
    said = ""
    while "Another run has this workspace" not in said:
        line = second.stderr.readline()
        assert line, said
        said += line
    assert f"(process {first.pid}, since " in said
    (project / "pause").unlink()
    answers = [process.communicate(timeout=240) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), answers
    assert sorted(ran(project)) == ["join", "left", "report", "right", "source"]
    tables = [dict(line.split() for line in out.splitlines()) for out, _ in answers]
    assert tables == [dict.fromkeys(STAGES, "Completed"), dict.fromkeys(STAGES, "Cached")]
    assert "Another run" not in answers[0][1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_is_left_when_it_is_ended(
    number: signal.Signals, start: Callable[..., subprocess.Popen[str]], finished_project: Path
) -> None:
    project = without_tracking(finished_project)
    change(project, "report", 50)
    (project / "hold").write_text("report")
    # The hardest case: killed while it runs a server that it started itself.
    process = start(project, "") if number is signal.SIGKILL else start(project)
    wait_for((project / "pids").exists)
    stage, grandchild = map(int, (project / "pids").read_text().split())
    family = psutil.Process(process.pid).children(recursive=True)
    assert {stage, grandchild} < {child.pid for child in family}
    assert os.getpgid(stage) != os.getpgid(process.pid)
    process.send_signal(number)
    _, said = process.communicate(timeout=240)
    assert process.returncode == {"SIGTERM": 143, "SIGINT": 130, "SIGKILL": -9}[number.name], said
    if number is signal.SIGINT:
        assert "Stopped." in said
    wait_for(lambda: all(gone(child.pid) for child in family))
    if number is signal.SIGKILL:  # the workspace is whole: the next run goes on from there
        (project / "hold").unlink()
        again = start(project)
        table, said = again.communicate(timeout=240)
        assert again.returncode == 0, said
        assert table.split()[-2:] == ["report", "Completed"]
