"""A folder outside the project is hashed again only if something in it has changed."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from versioned_project import dvc, git

from mediarank.ops.runs.dvc_stages import CACHED, TO_RUN, Stages
from mediarank.ops.runs.unchanged_sources import WATCHED_VARIABLE
from mediarank.ops.versions.lockfile import parse_yaml
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One stage that lists a folder beside the project; it has run."""
    source, root = tmp_path / "photos", tmp_path / "project"
    for folder in (source / "sea", root):
        folder.mkdir(parents=True)
    for name in ("a.jpg", "sea/b.jpg"):
        (source / name).write_text(name)
    (root / "dvc.yaml").write_text("stages: {list: {cmd: ls -R ../photos > out, deps: [../photos], outs: [out]}}\n")
    git(root, "init", "--quiet")
    dvc(root, "init", "--quiet")
    dvc(root, "repro")
    return root


@pytest.fixture
def looks(project: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often DVC hashed each path."""
    import dvc.output

    monkeypatch.chdir(project)  # DVC works in its own folder only
    plain, counted = dvc.output.build, Counter[str]()

    def counting(store: object, path: str, *rest: object, **settings: object) -> object:
        counted[Path(path).name] += 1
        return plain(store, path, *rest, **settings)

    monkeypatch.setattr(dvc.output, "build", counting)
    return counted


def test_the_source_is_hashed_once_in_a_run(project: Path, looks: Counter[str]) -> None:
    (project.parent / "photos/c.jpg").write_text("c")
    with Stages(project) as stages:
        assert not stages.plan.stages[0].unchanged
        assert stages.begin("list").outcome == TO_RUN
        (project / "out").write_text("listed")
        stages.finish("list")
        assert looks["photos"] == 1
        assert stages.begin("list").outcome == CACHED
        assert looks["photos"] == 1
    with Stages(project) as stages:
        assert stages.plan.stages[0].unchanged


@pytest.mark.parametrize("change", ["longer", "same length", "added", "removed", "in the folder below"])
def test_a_change_between_two_steps_is_noticed(project: Path, looks: Counter[str], change: str) -> None:
    photos = project.parent / "photos"
    with Stages(project) as stages:
        assert stages.plan.stages[0].unchanged
        if change == "removed":
            (photos / "a.jpg").unlink()
        elif change == "added":
            (photos / "new.jpg").write_text("new")
        else:
            file = photos / ("sea/b.jpg" if change == "in the folder below" else "a.jpg")
            file.write_text(file.read_text()[::-1] + ("more" if change == "longer" else ""))
            os.utime(file, ns=(1, 1))
        assert stages.begin("list").outcome == TO_RUN
        assert looks["photos"] == 2
        stages.abandon("list")


def test_a_command_is_told_where_the_cache_is(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = parse_yaml((project / "dvc.lock").read_bytes(), "dvc.lock")["stages"]["list"]["outs"][0]["md5"]
    with Objects(project) as objects:
        expected = objects.path(recorded)
    (project.parent / "photos/c.jpg").write_text("c")
    monkeypatch.chdir(project)
    with Stages(project) as stages:
        for name, value in stages.begin("list").variables:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(Objects, "_repo", None)
    with Objects(project) as objects:
        assert objects.path(recorded) == expected
        assert b"a.jpg" in objects.read(recorded)


def test_a_change_while_the_commands_run_fails_the_stage(project: Path, looks: Counter[str]) -> None:
    photos = project.parent / "photos"
    (photos / "c.jpg").write_text("c")
    recorded = (project / "dvc.lock").read_text()
    with Stages(project) as stages:
        begun = stages.begin("list")
        assert json.loads(dict(begun.variables)[WATCHED_VARIABLE]) == [str(photos)]
        (project / "out").write_text("listed")
        (photos / "late.jpg").write_text("late")
        with pytest.raises(DataError, match=r"1 of the stage's sources changed while it ran, such as .*late\.jpg"):
            stages.finish("list")
        assert (project / "dvc.lock").read_text() == recorded
        assert stages.begin("list").outcome == TO_RUN
        (project / "out").write_text("listed again")
        stages.finish("list")
    with Stages(project) as stages:
        assert stages.plan.stages[0].unchanged


def test_the_next_run_uses_the_kept_hashes_and_dvc_agrees(project: Path, looks: Counter[str]) -> None:
    photos = project.parent / "photos"
    for name in ("a.jpg", "sea/b.jpg"):
        os.utime(photos / name, ns=(1, 1))
    with Stages(project) as stages:
        assert stages.plan.stages[0].unchanged
    assert looks["photos"] == 1
    (photos / "sea/new.jpg").write_text("new")
    with Stages(project) as stages:
        assert not stages.plan.stages[0].unchanged
        assert stages.begin("list").outcome == TO_RUN
        (project / "out").write_text("listed")
        stages.finish("list")
    assert looks["photos"] == 1
    recorded = (project / "dvc.lock").read_text()
    dvc(project, "repro")  # by its own hashes it has nothing to do
    assert (project / "out").read_text() == "listed"
    assert (project / "dvc.lock").read_text() == recorded
    looks.clear()
    (photos / "sea/new.jpg").write_text("another")
    with Stages(project) as stages:
        assert not stages.plan.stages[0].unchanged
    assert looks["photos"] == 0
