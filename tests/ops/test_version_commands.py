"""The commands about versions, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner
from versioned_project import FIRST, media

from mediarank.cli.app import app
from mediarank.cli.versions import versions as _registered  # noqa: F401 - importing the module adds its commands
from mediarank.types import ConfigError


@pytest.fixture
def here(tracked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two recorded versions, only for looking at, as the folder we are in."""
    monkeypatch.chdir(tracked)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return tracked


def said(*words: str) -> str:
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_versions(here: Path) -> None:
    printed = said("versions")
    assert ": +1 -1 ~1 items; classes +2 -2\n    retrieval: learned map 0.697\n" in printed
    assert "Roll back to v1: first run (= v1)" in printed
    newest = said("versions", "--last", "1")
    assert "Roll back to v2" in newest
    assert "first run" not in newest
    assert "+1 -1 ~1" in newest, "compared with one that is not shown"


def test_before_the_first_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from versioned_project import git

    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path)
    assert "There is no version yet" in said("versions")


def test_lineage(here: Path) -> None:
    assert "retrieval/learned/map = 0.597019" in said("lineage", "v1", "--metric", "retrieval/learned/map")
    assert said("lineage", "v1", "--items").startswith("item_id,kind,sha256,md5,role,status\nimages/bay.jpg,image,")
    assert len(json.loads(said("lineage", "v1", "--json"))["items"]) == 4
    assert said("lineage", "--file", "images/forest.jpg").count("images/forest.jpg rank") == 1
    assert "No recorded run used" in said("lineage", "--file", "images/none.jpg")
    with pytest.raises(ConfigError, match="either a run"):
        said("lineage")


def test_compare_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # figures are not cut, however narrow it is
    printed = said("compare-runs", "v1", "v2")
    assert "…" not in printed
    assert "collection.seed: 7 -> 8" in printed
    assert "+0.1000" in printed
    assert "better" in printed


def test_rollback_and_verify(versioned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(versioned)
    assert "To undo: mediarank rollback " in said("rollback", "v1")
    assert media(versioned) == FIRST
    assert "11 files are what dvc.lock says." in said("verify")
