"""Going back to a version, and forward again: real git, real DVC, real damage, a real kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import versioned_project
from versioned_project import FIRST, SECOND, damage, dvc, git, media

from mediarank.ops.runs.one_at_a_time import take
from mediarank.ops.versions import rollback as module
from mediarank.ops.versions.history import find_version
from mediarank.ops.versions.rollback import RollbackRefused, rollback
from mediarank.ops.versions.verify import Verified
from mediarank.types import DataError, MediarankError


def state(root: Path) -> dict[str, bytes]:
    """Everything that makes a version, as it lies in the workspace."""
    tracked = git(root, "ls-files").splitlines()
    made = [path.relative_to(root).as_posix() for path in (root / "data").rglob("*") if path.is_file()]
    return {name: (root / name).read_bytes() for name in sorted({*tracked, *made})}


def test_there_and_back_again(versioned: Path) -> None:
    before = state(versioned)
    back = rollback(versioned, "v1")
    assert media(versioned) == FIRST
    assert "seed: 7" in (versioned / "params.yaml").read_text()
    assert (versioned / "baseline/check.json").read_text() == "{}\n"
    assert git(versioned, "show", "v1:dvc.lock") == (versioned / "dvc.lock").read_text().rstrip("\n")
    assert git(versioned, "status", "--porcelain") == "", "it is a commit"
    assert git(versioned, "log", "-1", "--format=%s") == "Roll back to v1: first run"
    assert back.files == 11
    assert f"To undo: mediarank rollback {git(versioned, 'rev-parse', 'v2')[:9]}" in back.summary()
    forward = rollback(versioned, back.left[:9])
    assert state(versioned) == before
    assert forward.code == (), "the code is that of v2"
    assert forward.outside == ("source",)


def test_code_that_changed_since_is_reported(versioned: Path) -> None:
    (versioned / "code.py").write_text("print('two')\n")
    versioned_project.commit(versioned, "better code")
    back = rollback(versioned, "v2")
    assert back.commit == "", "nothing else had changed"
    assert back.code == ("code.py",)
    assert "git checkout" in back.summary()


def test_sources_outside_the_project_are_reported(versioned: Path) -> None:
    read = [{"path": path, "md5": "0"} for path in ("/elsewhere/pictures", "../beside", "code.py")]
    version = find_version(versioned, "v1")
    apart = replace(version, lock=replace(version.lock, stages={"collect": {"deps": read}}))
    assert module._moved_on(versioned, apart) == ((), ("../beside", "/elsewhere/pictures"))


def test_a_clean_clone_needs_only_the_remote(clone: Path) -> None:
    back = rollback(clone, "v1")
    assert media(clone) == FIRST
    assert back.files == 11
    rollback(clone, "v2")
    assert media(clone) == SECOND


def test_without_the_data_nothing_is_touched(clone: Path) -> None:
    lost = [
        path
        for path in (clone.parent / "remote").rglob("*")
        if path.is_file() and path.read_bytes() == b"picture of forest"
    ]
    assert len(lost) == 1
    lost[0].unlink()
    before = state(clone)
    with pytest.raises(DataError, match=r"1 of its 11 files .*: data/raw/media/images/forest.jpg. Nothing was changed"):
        rollback(clone, "v1")
    assert state(clone) == before
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["params.yaml", "code.py"])
def test_uncommitted_changes_are_refused(versioned: Path, name: str) -> None:
    (versioned / name).write_text((versioned / name).read_text() + "\n# a word\n")
    before = state(versioned)
    with pytest.raises(RollbackRefused, match=f"not committed: {name}.*Commit them"):
        rollback(versioned, "v1")
    assert state(versioned) == before


def test_a_run_that_was_not_committed_is_refused(versioned: Path) -> None:
    git(versioned, "rm", "--quiet", "--cached", "dvc.lock")
    git(versioned, "commit", "--quiet", "--message", "without a lock")
    with pytest.raises(RollbackRefused, match=r"not committed: dvc.lock"):
        rollback(versioned, "v1")


def test_edited_data_is_refused(versioned: Path) -> None:
    labels = versioned / "data/raw/labels/classes.csv"
    text = labels.read_text()
    labels.unlink()
    labels.write_text(text + "images/bay.jpg,sea\n")
    with pytest.raises(RollbackRefused, match=r"data is not what dvc.lock says: data/raw/labels.*dvc checkout --force"):
        rollback(versioned, "v1")
    assert labels.read_text().endswith("images/bay.jpg,sea\n")


def test_a_workspace_in_use_is_refused(versioned: Path) -> None:
    held = take(versioned)
    assert held is not None
    with pytest.raises(RollbackRefused, match=f"A run has this workspace .*{os.getpid()}"):
        rollback(versioned, "v1")
    os.close(held)
    assert rollback(versioned, "v1").commit


def test_a_damaged_cache_file_is_fetched_again(versioned: Path) -> None:
    (damaged,) = damage(versioned, "picture of forest")
    said: list[str] = []
    rollback(versioned, "v1", say=said.append)
    assert media(versioned) == FIRST
    assert damaged.read_text() == "picture of forest"
    assert any("1 files are damaged or missing, such as data/raw/media/images/forest.jpg" in line for line in said)


def test_damage_that_nothing_heals_leaves_everything_as_it_was(versioned: Path) -> None:
    damage(versioned, "picture of forest")
    versioned.parent.joinpath("remote").rename(versioned.parent / "unplugged")
    before, head = state(versioned), git(versioned, "rev-parse", "HEAD")
    with pytest.raises(MediarankError, match="forest"):
        rollback(versioned, "v1")
    assert state(versioned) == before
    assert git(versioned, "rev-parse", "HEAD") == head
    assert git(versioned, "status", "--porcelain") == ""
    assert not (versioned / ".mediarank" / module.NOTE).exists()


def test_a_failure_in_a_clone_leaves_a_clone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(clone)
    monkeypatch.setattr(module, "heal", lambda *_: Verified(11, (), ("data/raw/labels/classes.csv",)))
    with pytest.raises(DataError, match=r"1 files of v1 are damaged .*classes\.csv"):
        rollback(clone, "v1")
    after = state(clone)
    assert {name: after[name] for name in before} == before
    assert media(clone) == {}, "no data of either version, but for what they share"
    assert git(clone, "status", "--porcelain") == ""
    assert not (clone / ".mediarank" / module.NOTE).exists()


KILLED = """
import sys, time
from pathlib import Path
from mediarank.ops.versions import rollback as module

def wait(*_):
    Path(sys.argv[1], "reached").touch()
    time.sleep(600)

setattr(module, sys.argv[3], wait)
module.rollback(Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("moment", ["checkout", "_commit"])
def test_a_killed_rollback_is_put_back_by_the_next(versioned: Path, moment: str) -> None:
    before = state(versioned)
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(versioned), "v1", moment])
    while not (versioned / "reached").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    (versioned / "reached").unlink()
    assert state(versioned) != before
    said: list[str] = []
    assert rollback(versioned, "v2", say=said.append).commit == ""
    assert "An earlier rollback was interrupted." in said
    assert state(versioned) == before


def test_what_was_changed_after_a_kill_is_not_put_back(versioned: Path) -> None:
    note = versioned / ".mediarank" / module.NOTE
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps({"left": git(versioned, "rev-parse", "HEAD"), "target": "v1"}))
    (versioned / "params.yaml").write_text("precious: 1\n")
    with pytest.raises(RollbackRefused, match=r"params.yaml was changed since.*git restore --source="):
        rollback(versioned, "v1")
    assert (versioned / "params.yaml").read_text() == "precious: 1\n"


def test_an_output_that_only_one_version_has_comes_and_goes(versioned: Path) -> None:
    plan = (versioned / "dvc.yaml").read_text()
    (versioned / "dvc.yaml").write_text(
        plan + "  extra:\n    cmd: echo more > data/extra.txt\n    outs: [data/extra.txt]\n"
    )
    dvc(versioned, "repro")
    dvc(versioned, "push", "--quiet")
    versioned_project.commit(versioned, "third run", "v3")
    rollback(versioned, "v2")
    assert not (versioned / "data/extra.txt").exists()
    assert not (versioned / "data/.gitignore").exists()
    rollback(versioned, "v3")
    assert (versioned / "data/extra.txt").read_text() == "more\n"
    assert git(versioned, "status", "--porcelain") == ""


def test_a_lock_that_git_left_behind_is_reported_and_nothing_is_lost(versioned: Path) -> None:
    before = state(versioned)
    (versioned / ".git/index.lock").touch()
    with pytest.raises(MediarankError, match=r"index\.lock"):
        rollback(versioned, "v1")
    (versioned / ".git/index.lock").unlink()
    assert state(versioned) == before
    assert rollback(versioned, "v1").commit
    assert media(versioned) == FIRST


def test_files_in_baseline_that_git_does_not_have_are_not_overwritten(versioned: Path) -> None:
    (versioned / "baseline/mine.json").write_text("not committed")
    with pytest.raises(RollbackRefused, match=r"baseline/mine\.json.*overwrite"):
        rollback(versioned, "v1")
    assert (versioned / "baseline/mine.json").read_text() == "not committed"


def test_what_people_said_belongs_to_the_version(versioned: Path) -> None:
    journal = versioned / "labels/journal/ada.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("a statement\n")
    with pytest.raises(RollbackRefused, match=r"ada\.jsonl.*Commit"):
        rollback(versioned, "v1")
    versioned_project.commit(versioned, "a statement")
    left = git(versioned, "rev-parse", "HEAD")
    rollback(versioned, "v1")
    assert not journal.exists(), "the next run would bring the correction back"
    rollback(versioned, left)
    assert journal.read_text() == "a statement\n"
    journal.write_text("a statement\nanother\n")
    with pytest.raises(RollbackRefused, match=r"ada\.jsonl"):
        rollback(versioned, "v1")
    assert "another" in journal.read_text()
