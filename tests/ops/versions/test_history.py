"""The list of versions, the changes of each, and its results."""

from __future__ import annotations

from pathlib import Path

import pytest
import versioned_project
from versioned_project import commit, git

from mediarank.ops.versions.changes import DataChanges, data_changes, param_changes, source_changes
from mediarank.ops.versions.history import Described, describe, find_version, headlines, history
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError


def described(root: Path) -> list[Described]:
    with Objects(root) as objects:
        return describe(history(root), objects)


def test_each_version_says_what_it_changed(versioned: Path) -> None:
    second, first = described(versioned)
    assert (second.version.name, first.version.name) == ("v2", "v1")
    assert second.version.subject == "second run"
    assert second.changes == DataChanges(
        added=("images/tower.jpg",),
        removed=("images/forest.jpg",),
        changed=("images/cliff.jpg",),
        labels={"classes": (2, 2)},  # tower came, forest went, cliff is land and no longer sea
    )
    assert second.changes.summary() == "+1 -1 ~1 items; classes +2 -2"
    assert first.changes is not None
    assert first.changes.summary() == "+4 items; classes +4"
    assert second.version.lock.data_version != first.version.lock.data_version
    assert second.metrics is not None
    assert headlines(second.metrics) == {
        "retrieval": ("learned", "map", pytest.approx(second.metrics["retrieval/learned/map"]))
    }
    assert headlines(second.metrics, "queries")["retrieval"][2] == 40
    assert headlines(second.metrics, "unknown") == {}


def test_a_clone_lists_them_from_the_remote(versioned: Path, clone: Path) -> None:
    assert not (clone / ".dvc/cache").exists()
    here, there = described(versioned), described(clone)
    assert [(d.version.commit, d.changes, d.metrics) for d in there] == [
        (d.version.commit, d.changes, d.metrics) for d in here
    ]


def test_what_can_not_be_had_is_listed_all_the_same(clone: Path) -> None:
    versioned_project.dvc(
        clone, "remote", "modify", "--quiet", "--local", "store", "url", str(clone.parent / "nowhere")
    )
    second, _ = described(clone)
    assert second.version.name == "v2"
    assert second.changes is None
    assert second.metrics is None


def test_only_commits_that_changed_the_lock_are_versions(versioned: Path) -> None:
    (versioned / "README.md").write_text("a word")
    commit(versioned, "no run")
    git(versioned, "tag", "release-1")
    newest, *older = history(versioned)
    assert newest.subject == "second run"
    assert newest.tags == ("v2", "release-1"), "a later tag names the run that was current"
    assert len(older) == 1
    assert [v.name for v in history(versioned, last=1)] == ["v2"]


def test_a_lock_that_is_not_committed_comes_first(versioned: Path) -> None:
    lock = versioned / "dvc.lock"
    lock.write_text(lock.read_text().replace("seed: 8", "seed: 9"))
    workspace, second, _ = described(versioned)
    assert (workspace.version.name, workspace.version.commit) == ("(workspace)", "")
    assert workspace.changes == DataChanges()
    assert workspace.changes.summary() == "unchanged"
    assert workspace.version.lock.key != second.version.lock.key


def test_a_version_that_was_left_by_a_reset_is_found_by_its_tag(versioned: Path) -> None:
    git(versioned, "reset", "--quiet", "--hard", "v1")
    assert [version.name for version in history(versioned)] == ["v2", "v1"]


def test_before_the_first_commit_there_are_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert history(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "message"), [("v9", "no version 'v9'"), ("--all", "no version"), ("start", "no dvc.lock")]
)
def test_what_is_no_version_is_reported(versioned: Path, name: str, message: str) -> None:
    git(versioned, "tag", "start", git(versioned, "commit-tree", "-m", "empty", git(versioned, "mktree", "/dev/null")))
    with pytest.raises(DataError, match=message):
        find_version(versioned, name)


def test_settings_and_sources_that_differ_are_named(versioned: Path) -> None:
    first, second = find_version(versioned, "v1").lock, find_version(versioned, "v2").lock
    assert param_changes(first, second) == {"collection.seed": ("7", "8")}
    assert set(source_changes(first, second)) == {
        "source", "prepared/manifest.parquet", "prepared/metrics.json", "prepared/per_query.parquet",
        "prepared/roles.parquet",
    }  # fmt: skip
    assert "code.py" in first.sources
    with Objects(versioned) as objects:
        assert not data_changes(first, first, objects)
