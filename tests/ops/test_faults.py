"""A full disk, a folder that can't be written, a file in the way, a clock that jumps, `kill -9`: reported or repaired.

What damage to caches does is tested beside them (`features`, `media`, `verify`), locks that are left behind beside
`runlock`, `rollback` and `tracking`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import toy_project
import versioned_project
from waiting import wait_for

from mediarank.ops.runs import tracking
from mediarank.ops.runs.dvc_repair import GUARD, LISTED, repair_rwlock

TABLE = "data/raw/labels/classes.csv"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a collection of two classes, to which a picture was added since."""
    root = tmp_path_factory.mktemp("faults")
    (root / "params.yaml").write_text("collection: {source: folder, path: pictures}\n")
    for name in ("sea/1.png", "land/1.png"):
        draw(root / "pictures" / name)
    done = collect(root)
    assert done.returncode == 0, done.stderr
    draw(root / "pictures/land/2.png")
    return root


def draw(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.zeros((8, 8, 3), np.uint8))


def collect(root: Path, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """A stage, as DVC runs it."""
    command = [sys.executable, "-B", "-m", "mediarank", "collect"]
    return subprocess.run(command, cwd=root, preexec_fn=limit, capture_output=True, text=True, check=False)


def small_disk() -> None:
    """No file may grow beyond a few bytes: what a full disk does, without filling one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))


def obey_modes() -> None:
    """Give up root's right to write anywhere, if we are root: CAP_DAC_OVERRIDE leaves the bounding set."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0


def test_a_full_disk_leaves_the_old_value_and_says_so(collected: Path) -> None:
    before, before_names = (collected / TABLE).read_bytes(), {p.name for p in (collected / "data/raw").iterdir()}
    done = collect(collected, small_disk)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert (collected / TABLE).read_bytes() == before
    assert {path.name for path in (collected / "data/raw").iterdir()} == before_names, "no half of anything"


def test_a_read_only_folder_is_named(collected: Path) -> None:
    before = (collected / TABLE).read_bytes()
    (collected / "data/raw").chmod(0o555)
    try:
        done = collect(collected, obey_modes)
    finally:
        (collected / "data/raw").chmod(0o755)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "data/raw" in done.stderr
    assert "Traceback" not in done.stderr
    assert (collected / TABLE).read_bytes() == before


def test_a_file_in_place_of_a_folder_is_named(collected: Path) -> None:
    (collected / "data").rename(collected / "aside")
    (collected / "data").write_text("in the way")
    try:
        done = collect(collected)
    finally:
        (collected / "data").unlink()
        (collected / "aside").rename(collected / "data")
    assert done.returncode == 1
    assert "data" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("year", [1980, 2099])
def test_a_clock_that_jumps_makes_nothing_out_of_date(versioned: Path, year: int) -> None:
    from mediarank.ops.runs.dag import read_plan
    from mediarank.ops.versions.rollback import rollback

    seconds = (year - 1970) * 365.25 * 86400
    for path in [*versioned.rglob("source/**/*"), *versioned.rglob("prepared/*"), *versioned.rglob("data/raw/**/*")]:
        os.utime(path, (seconds, seconds))
    assert all(stage.unchanged for stage in read_plan(versioned).stages)
    rollback(versioned, "v1")
    assert versioned_project.media(versioned) == versioned_project.FIRST


def test_a_run_is_recorded_once_whatever_the_clock_says(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tracking.track(tracked, "sqlite:///mlflow.db")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert tracking.track(tracked, "sqlite:///mlflow.db") == known
    assert not known.created


@pytest.mark.parametrize("left", ["", '{"data/raw": {"read": [{"pi'])
def test_half_a_list_of_dvc_is_removed_and_a_whole_one_kept(tmp_path: Path, left: str) -> None:
    (tmp_path / GUARD).parent.mkdir(parents=True)
    assert not repair_rwlock(tmp_path)
    (tmp_path / LISTED).write_text(left)
    assert repair_rwlock(tmp_path)
    assert not (tmp_path / LISTED).exists()
    (tmp_path / LISTED).write_text("{}")
    assert not repair_rwlock(tmp_path)
    assert (tmp_path / LISTED).read_text() == "{}"


@pytest.mark.slow
@pytest.mark.central
def test_kill_9_between_and_within_stages_changes_no_byte(tmp_path: Path) -> None:
    """Two kills of a small run, each when another stage has begun; `benchmarks/ops.py --parts kill` does twenty."""
    undisturbed = toy_project.make(tmp_path / "undisturbed")
    project = toy_project.copy(undisturbed, tmp_path / "killed")
    toy_project.plain_repro(undisturbed)
    for stage in ("left", "report"):
        (project / "pause").write_text(stage)
        run = subprocess.Popen([sys.executable, "-m", "dvc", "repro", "--quiet"], cwd=project, start_new_session=True)
        wait_for(lambda stage=stage, run=run: (project / f"{stage}.here").exists() or run.poll() is not None)
        assert run.poll() is None, "it ended by itself"
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        (project / "pause").unlink()
        repair_rwlock(project)
    toy_project.plain_repro(project)
    assert toy_project.contents(project) == toy_project.contents(undisturbed)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_stages_and_commands_leave_nothing_and_give_the_same_content() -> None:
    """At two steps each; `benchmarks/faults.py --parts stages` takes every step of all of them."""
    script = Path(__file__).parents[2] / "benchmarks/faults.py"
    chosen = ["--parts", "stages", "--most", "2", "--only", "frames", "track", "promote", "label add"]
    done = subprocess.run([sys.executable, str(script), *chosen], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["kill_points"], found["kill_other_bytes"], found["kill_leftovers"]) == (8, 0, 0)
