"""Writes are atomic: every crash state is read as the old or the new value, and nothing is left over."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from faults_crash import CrashStates, fail_at, kill_at

from mediarank import disk, store
from mediarank.labels import Labels
from mediarank.types import FeatureMatrix, MachineFault


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shim sees every sync; that the disk really does it is not needed, and takes minutes on a busy one."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(disk, "_sync_file_system", lambda folder: True)
    monkeypatch.setattr(disk, "_MANY_FILES", 4)


def features(path: Path, value: float) -> None:
    ids = np.array([f"i{k}" for k in range(5)])
    store.write_features(path, FeatureMatrix(ids, ("x",), np.full((5, 1), value, np.float32)))


def folder(path: Path, value: float) -> None:
    """Many small files, as the frames stage writes them."""
    with store.atomic_folder(path) as temporary:
        for k in range(6):
            (temporary / f"{k % 2}").mkdir(exist_ok=True)
            (temporary / f"{k % 2}/{k}").write_text(str(value) * 10)


def labels(path: Path, value: float) -> None:
    store.write_labels(path, Labels({"classes": pd.DataFrame({"item": ["a"], "class": [str(value)]})}))


def read_folder(path: Path) -> object:
    return sorted((str(p.relative_to(path)), p.read_text()) for p in path.rglob("*") if p.is_file())


KINDS: dict[str, tuple[Callable[[Path, float], None], Callable[[Path], object]]] = {
    "json": (lambda p, v: store.write_json(p, {"v": v}), store.read_json),
    "table": (
        lambda p, v: store.write_table(p, pd.DataFrame({"v": [v]})),
        lambda p: store.read_table(p)["v"].tolist(),
    ),
    "arrays": (
        lambda p, v: store.write_arrays(p, {"v": np.full(9, v)}),
        lambda p: store.read_arrays(p)["v"].tolist(),
    ),
    "features": (features, lambda p: store.read_features(p).values.tolist()),
    "labels": (labels, lambda p: store.read_labels(p)["classes"].to_json()),
    "folder": (folder, read_folder),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_every_crash_state_is_the_old_value_or_the_new_one(tmp_path: Path, kind: str, first: bool) -> None:
    write, read = KINDS[kind]
    home = tmp_path / "home"
    home.mkdir()
    if not first:
        write(home / "target", 1.0)
    write(tmp_path / "old", 1.0)
    write(tmp_path / "new", 2.0)
    old, new = read(tmp_path / "old"), read(tmp_path / "new")
    crash = CrashStates(home, tmp_path / "states")
    with crash.recorded():
        write(home / "target", 2.0)
    assert crash.steps > 5
    seen = []
    for state in sorted((tmp_path / "states").iterdir()):
        target = state / "target"
        seen.append("none" if not target.exists() else {str(old): "old", str(new): "new"}[str(read(target))])
        if first:
            assert seen[-1] != "old"
        else:
            assert seen[-1] != "none", f"{state.name}: neither"
        write(target, 2.0)
        assert read(target) == new
        assert [p.name for p in state.iterdir()] == ["target"], "leftovers are swept by the next write"
    assert seen[-3:] == ["new"] * 3, "what has returned survives"
    assert seen[0] == ("none" if first else "old")


def test_without_an_exchange_there_is_a_moment_without_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features(tmp_path / "target", 1.0)
    monkeypatch.setattr(disk, "_exchange", lambda one, other: False)
    features(tmp_path / "target", 2.0)
    assert store.read_features(tmp_path / "target").values.max() == 2.0
    assert [p.name for p in tmp_path.iterdir()] == ["target"]


def in_a_child(work: Callable[[], object]) -> int:
    """The signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("kind", ["json", "features", "folder"])
def test_killed_at_each_step_and_run_again(tmp_path: Path, kind: str) -> None:
    write, read = KINDS[kind]
    write(tmp_path / "new", 2.0)
    home = tmp_path / "home"
    step = 0
    while True:
        shutil.rmtree(home, ignore_errors=True)
        write(home / "target", 1.0)

        def killed(step: int = step) -> None:
            with kill_at(step):
                write(home / "target", 2.0)

        ended = in_a_child(killed)
        write(home / "target", 2.0)
        assert read(home / "target") == read(tmp_path / "new")
        assert [p.name for p in home.iterdir()] == ["target"]
        if ended != signal.SIGKILL:
            break
        step += 1
    assert step > 5


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("kind", ["json", "features", "labels"])
def test_a_fault_at_any_step_is_raised_and_leaves_a_whole_value(tmp_path: Path, kind: str, code: int) -> None:
    write, read = KINDS[kind]
    for name, value in (("old", 1.0), ("new", 2.0), ("target", 1.0)):
        write(tmp_path / name / "target", value)
    target = tmp_path / "target/target"
    step, done = 0, False
    while not done:
        write(target, 1.0)
        try:
            with fail_at(step, code) as count:
                write(target, 2.0)
            done = count[0] <= step  # or else the fault was in something that did not matter
        except OSError as error:
            assert error.errno == code  # noqa: PT017 - which step fails is not known beforehand
        assert read(target) in (read(tmp_path / "old/target"), read(tmp_path / "new/target"))
        step += 1
    assert step > 5
    assert [p.name for p in target.parent.iterdir()] == ["target"]


def test_a_living_writer_is_not_swept_away(tmp_path: Path) -> None:
    with disk.scratch(tmp_path / "target") as temporary:
        (temporary / "file").write_text("here")
        assert disk.sweep(tmp_path / "target") == []
        assert disk.sweep_below(tmp_path) == []
        store.write_json(tmp_path / "target", {"a": 1})
        assert (temporary / "file").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["target"]


def test_only_leftovers_are_swept(tmp_path: Path) -> None:
    kept = [".gitignore", ".target.notes", ".other.abcdefgh.json", "target.json", ".hidden", ".target.json.ABCDEFGH"]
    for name in [*kept, ".target.json.abcd_f12.json"]:
        (tmp_path / name).write_text("x")
    (tmp_path / ".target.json.linked12").symlink_to(tmp_path / "target.json")
    disk.sweep(tmp_path / "target.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*kept, ".target.json.linked12"])


def test_sweeping_a_project_looks_two_folders_deep(tmp_path: Path) -> None:
    for name in (
        "data/raw/.media.abcdefgh/x",
        "data/features/.hog.12345678/values.npy",
        "data/raw/media/.a.bcdefghi/x",
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x")
    swept = disk.sweep_below(tmp_path / "data", depth=1)
    assert sorted(path.name for path in swept) == [".hog.12345678", ".media.abcdefgh"]
    assert (tmp_path / "data/raw/media/.a.bcdefghi/x").exists(), "what is inside an output is not ours to judge"


def test_a_killed_process_frees_what_it_had(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from mediarank import disk\n"
        "with disk.scratch(Path(sys.argv[1])) as t: print(t, flush=True); time.sleep(600)"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "t")], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    temporary = Path(writer.stdout.readline().strip())
    assert disk.sweep(tmp_path / "t") == []
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert disk.sweep(tmp_path / "t") == [temporary]


def test_faults_of_the_machine_have_a_remedy() -> None:
    assert isinstance(disk.machine_fault(OSError(errno.ENOSPC, "full", "some/file")), MachineFault)
    assert "some/file" in str(disk.machine_fault(OSError(errno.ENOSPC, "full", "some/file")))
    copied = disk.machine_fault(OSError(errno.ENOSPC, "full", "from/here", None, "to/there"))
    assert "to/there" in str(copied), "the disk that is full"
    assert disk.machine_fault(OSError(errno.ENOENT, "no such file")) is None
    assert disk.machine_fault(ValueError("no")) is None
