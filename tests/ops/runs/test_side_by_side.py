"""Stages in parallel against plain `dvc repro`, on a real toy project: same bytes, same cache, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import toy_project
from waiting import wait_for

from mediarank.ops.runs.side_by_side import run_stages
from mediarank.ops.runs.workspace_run import Done, FollowUp
from mediarank.types import MediarankError


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_project.make(tmp_path_factory.mktemp("side") / "template")


@pytest.fixture(scope="module")
def plain(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What plain `dvc repro` makes of it."""
    finished = toy_project.copy(template, tmp_path_factory.mktemp("side") / "plain")
    toy_project.plain_repro(finished)
    return finished


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that wait for each other need two processes, however many cores there are."""
    monkeypatch.setenv("MEDIARANK_JOBS", "2")


@pytest.fixture
def fresh(template: Path, tmp_path: Path) -> Path:
    return toy_project.copy(template, tmp_path / "project")


@pytest.fixture
def finished(plain: Path, tmp_path: Path) -> Path:
    return toy_project.copy(plain, tmp_path / "project")


def everything(project: Path) -> dict[str, bytes]:
    """Outputs, dvc.lock, git's ignore files and all of DVC's cache, the run cache included."""
    roots = [project / "data", project / ".dvc/cache"]
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in [*files, project / "dvc.lock"]}


def test_same_bytes_and_same_cache_as_plain_repro(fresh: Path, plain: Path) -> None:
    (fresh / "meet").touch()  # both sides wait for each other: only side by side can they end
    said: list[str] = []
    done = run_stages(fresh, said.append)
    assert done == dict.fromkeys(toy_project.STAGES, Done.RAN)
    assert everything(fresh) == everything(plain)
    assert said[0] == "stage 1 of 5: source"
    assert "  join: join speaks" in said
    assert not (fresh / ".dvc/tmp/rwlock").exists() or b"pid" not in (fresh / ".dvc/tmp/rwlock").read_bytes()


def test_dvc_finds_nothing_to_do_afterwards(fresh: Path) -> None:
    run_stages(fresh, lambda _: None)
    before = toy_project.ran(fresh)
    toy_project.plain_repro(fresh)
    assert toy_project.ran(fresh) == before


def test_only_what_changed_runs_and_what_is_remembered_is_restored(finished: Path, plain: Path) -> None:
    count = len(toy_project.ran(finished))
    assert set(run_stages(finished, print).values()) == {Done.CACHED}
    toy_project.change(finished, "left", 20)
    done = run_stages(finished, print)
    ran = {name for name, how in done.items() if how is Done.RAN}
    assert ran == {"sides@left", "join", "report"}
    assert toy_project.ran(finished)[count:] == ["left", "join", "report"]
    toy_project.change(finished, "left", 2)
    done = run_stages(finished, print)
    assert {name for name, how in done.items() if how is Done.RESTORED} == ran
    assert toy_project.contents(finished) == toy_project.contents(plain)


def test_a_failure_is_reported_and_what_ran_beside_it_is_kept(fresh: Path) -> None:
    # Right begins when left has begun, and left ends when right has failed.
    (fresh / "meet").touch()
    (fresh / "pause").write_text("left")
    (fresh / "broken").write_text("right")

    def hear(line: str) -> None:
        if "right refuses" in line:
            (fresh / "pause").unlink()

    with pytest.raises(MediarankError, match=r"(?s)sides@right failed \(exit code.*3 of 40 rows have no label"):
        run_stages(fresh, hear)
    for file in ("meet", "broken"):
        (fresh / file).unlink()
    done = run_stages(fresh, print)
    assert done["sides@left"] is Done.CACHED
    assert done["sides@right"] is Done.RAN


def test_follow_ups_come_last_and_once(fresh: Path) -> None:
    program = "import pathlib; pathlib.Path('seen').write_text(pathlib.Path('ran.log').read_text())"
    what = FollowUp("look", (sys.executable, "-c", program), reads=("dvc.lock",))
    done = run_stages(fresh, print, (what,))
    assert list(done) == [*toy_project.STAGES, "look"]
    assert (fresh / "seen").read_text() == (fresh / "ran.log").read_text()
    assert run_stages(fresh, print, (what,))["look"] is Done.CACHED


RUN = """
import sys
from pathlib import Path
from mediarank.ops.runs.side_by_side import run_stages
run_stages(Path(sys.argv[1]), print)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_is_left_of_a_run_that_is_ended(number: signal.Signals, finished: Path, plain: Path) -> None:
    toy_project.change(finished, "report", 50)
    (finished / "hold").write_text("report")
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(finished)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for((finished / "pids").exists)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.wait(120)
    wait_for(lambda: all(toy_project.gone(child.pid) for child in family))
    (finished / "hold").unlink()
    toy_project.change(finished, "report", 5)
    run_stages(finished, print)
    assert toy_project.contents(finished) == toy_project.contents(plain)


def test_another_dvc_command_sees_that_the_output_is_being_written(finished: Path) -> None:
    toy_project.change(finished, "report", 50)
    (finished / "pause").write_text("report")
    process = subprocess.Popen([sys.executable, "-c", RUN, str(finished)], stdout=subprocess.DEVNULL)
    try:
        wait_for((finished / "report.here").exists)
        listed = (finished / ".dvc/tmp/rwlock").read_text()
        assert "data/report/report.html" in listed
        refused = subprocess.run(
            [sys.executable, "-m", "dvc", "repro", "-s", "report"],
            cwd=finished, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert refused.returncode
        assert "is busy" in refused.stderr
        assert "mediarank run" in refused.stderr
    finally:
        (finished / "pause").unlink()
        assert process.wait(120) == 0
