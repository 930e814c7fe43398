"""How the end of a command is read, and when a follow-up is done again."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_project

from mediarank.ops.runs.one_at_a_time import take
from mediarank.ops.runs.workspace_run import Done, FollowUp, PassingFault, PipelineRun, StageFailed, begin_early
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


@pytest.mark.parametrize(
    "verdict",
    [
        "ERROR: failed to reproduce 'join': Unable to acquire lock. Most likely another DVC process is running",
        "ERROR: '/data/left' is busy, it is being blocked by:",
        f"ERROR: unexpected error - [Errno {errno.EAGAIN}] Resource temporarily unavailable",
        "ERROR: unexpected error - database is locked",
    ],
)
def test_passing_faults_of_dvc(run: PipelineRun, verdict: str) -> None:
    with pytest.raises(PassingFault, match="some: ERROR"):
        run.follow_up(printing(verdict), print)


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: failed to reproduce 'join': failed to run: echo 'Unable to acquire lock', exited with 1",
        "Unable to acquire lock",
        f"ValueError: [Errno {errno.EAGAIN}]",
    ],
)
def test_what_a_stage_says_itself_is_final(run: PipelineRun, text: str) -> None:
    with pytest.raises(StageFailed, match="exit code 1"):
        run.follow_up(printing(text), print)


def test_the_message_is_the_stages_own_words(run: PipelineRun) -> None:
    text = "Running stage 'join':\n> python work.py\n3 rows have no label\nERROR: failed to reproduce 'join': x"
    with pytest.raises(StageFailed) as failure:
        run.follow_up(printing(text, 3), print)
    assert str(failure.value) == "some failed (exit code 3).\n3 rows have no label"


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
