"""Which failures are final, their messages, and when a follow-up runs again."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_project

from mediarank.ops.runs.dvc_process import passes
from mediarank.ops.runs.one_at_a_time import take
from mediarank.ops.runs.workspace_run import Done, FollowUp, PipelineRun, StageFailed, begin_early
from mediarank.types import ConfigError


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_project.make(tmp_path_factory.mktemp("run") / "project")


@pytest.fixture(scope="module")
def run(project: Path) -> Iterator[PipelineRun]:
    with PipelineRun(project, print, seconds=60) as opened:
        yield opened


def printing(text: str, code: int = 1) -> FollowUp:
    return FollowUp("some", (sys.executable, "-c", f"print({text!r}); raise SystemExit({code})"))


def test_passing_faults_of_dvc() -> None:
    from dvc.exceptions import DvcException
    from dvc.lock import FAILED_TO_LOCK_MESSAGE, LockError

    assert passes(LockError(FAILED_TO_LOCK_MESSAGE))
    assert passes(LockError("'/data/left' is busy, it is being blocked by:\n  (PID 1): dvc repro"))
    assert passes(OSError(errno.EAGAIN, "Resource temporarily unavailable"))
    assert passes(sqlite3.OperationalError("database is locked"))
    assert not passes(OSError(errno.ENOSPC, "No space left on device"))
    assert not passes(DvcException("output 'data/left' does not exist"))


@pytest.mark.parametrize("text", ["ERROR: Unable to acquire lock", f"ValueError: [Errno {errno.EAGAIN}]"])
def test_what_a_command_prints_makes_no_fault_a_passing_one(run: PipelineRun, text: str) -> None:
    with pytest.raises(StageFailed, match="exit code 1"):
        run.follow_up(printing(text), print)


def test_the_message_is_the_commands_last_lines(run: PipelineRun) -> None:
    with pytest.raises(StageFailed) as failure:
        run.follow_up(printing("reading labels\n3 rows have no label", 3), print)
    assert str(failure.value) == "some failed (exit code 3).\nreading labels\n3 rows have no label"


def test_out_of_time_says_what_to_do(run: PipelineRun, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = FollowUp("slow", (sys.executable, "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(run, "_seconds", 0.5)
    with pytest.raises(StageFailed, match=r"longer than 0\.5 s.*stage_hours"):
        run.follow_up(slow, print)


def test_a_follow_up_is_done_once_for_what_it_reads_and_where_it_writes(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = toy_project.copy(project, tmp_path / "copy")
    (copied / "read").write_text("1")
    program = "open('kept', 'a').write('x')"
    what = FollowUp("count", (sys.executable, "-c", program), ("read",), ("kept",), ("TOY_SETTING",))
    with PipelineRun(copied, print, seconds=60) as run:
        assert run.follow_up(what, print) is Done.RAN
        assert run.follow_up(what, print) is Done.CACHED
        (copied / "read").write_text("2")
        assert run.follow_up(what, print) is Done.RAN
        (copied / "kept").rename(copied / "old")
        assert run.follow_up(what, print) is Done.RAN
        monkeypatch.setenv("TOY_SETTING", "elsewhere")
        assert run.follow_up(what, print) is Done.RAN
        assert run.follow_up(what, print) is Done.CACHED
    assert ((copied / "old").read_text(), (copied / "kept").read_text()) == ("xx", "xx")


def test_a_workspace_that_can_not_be_read_is_free_again(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        pytest.raises(ConfigError, match="DVC can't read the pipeline"),
        PipelineRun(tmp_path, said.append, seconds=60),
    ):
        pass
    held = take(tmp_path)
    assert held is not None
    os.close(held)
    assert said == []


def test_a_run_begun_early_holds_the_workspace(tmp_path: Path, project: Path) -> None:
    copied = toy_project.copy(project, tmp_path / "copy")
    begin_early(copied)
    assert take(copied) is None
    with PipelineRun(copied, print, seconds=60) as run:
        assert [stage.address for stage in run.stages] == list(toy_project.STAGES)
    held = take(copied)
    assert held is not None
    os.close(held)
