"""A source that changes while a stage runs makes the stage fail, instead of being recorded with an old result."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from versioned_project import dvc, git

from mediarank.ops.runs.unchanged_sources import STAGE_VARIABLE, WATCHED_VARIABLE, steady_sources
from mediarank.types import DataError

PLAN = f"""\
stages:
  collect:
    cmd: {sys.executable} stage.py
    deps: ["${{collection.path}}", stage.py]
    outs: [data/raw]
  features:
    foreach: ${{features}}
    do:
      cmd: "true"
      deps: [data/raw, "code/${{key}}.py"]
      params: ["features.${{key}}"]
      outs: ["data/features/${{key}}"]
      metrics:
        - data/metrics.json: {{cache: false}}
"""
STAGE = """\
from pathlib import Path
from mediarank.ops.runs.unchanged_sources import steady_sources

with steady_sources(Path.cwd()):
    Path("data").mkdir(exist_ok=True)
    Path("data/raw").write_text(Path("pictures/a.txt").read_text())
    if Path("restless").exists():
        Path("restless").unlink()
        Path("pictures/a.txt").write_text("two")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "dvc.yaml").write_text(PLAN)
    (tmp_path / "params.yaml").write_text("collection: {path: pictures}\nfeatures: {hog: {}}\n")
    (tmp_path / "stage.py").write_text(STAGE)
    for name in ("pictures/a.txt", "code/hog.py", "data/raw", "code/__pycache__/hog.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    return tmp_path


def command(root: Path, changed: str, end: BaseException) -> None:
    """A stage during which a source goes away, and how it ends."""
    with steady_sources(root):
        (root / changed).unlink()
        raise end


def test_dvc_records_nothing_of_a_stage_whose_source_changed(root: Path) -> None:
    git(root, "init", "--quiet")
    dvc(root, "init", "--quiet")
    (root / "data/raw").unlink()
    (root / "restless").touch()
    with pytest.raises(AssertionError, match="repro"):
        dvc(root, "repro", "collect")
    assert not (root / "dvc.lock").exists()
    dvc(root, "repro", "collect")
    assert (root / "data/raw").read_text() == "two"


@pytest.mark.parametrize(
    ("stage", "changed"),
    [("collect", "pictures/a.txt"), ("dvc.yaml:collect", "pictures/new.txt"), ("features@hog", "code/hog.py")],
)
def test_a_changed_source_is_named(root: Path, monkeypatch: pytest.MonkeyPatch, stage: str, changed: str) -> None:
    monkeypatch.setenv(STAGE_VARIABLE, stage)
    with (
        pytest.raises(DataError, match=f"1 of the stage's sources changed while it ran, such as .*{changed}"),
        steady_sources(root),
    ):
        (root / changed).write_text("another")
    with pytest.raises(DataError, match="changed while"):
        command(root, changed, SystemExit(0))


@pytest.mark.parametrize(
    ("stage", "changed"), [("features@hog", "data/raw"), ("collect", "code/hog.py"), ("", "pictures/a.txt")]
)
def test_what_is_no_source_of_the_stage_may_change(
    root: Path, monkeypatch: pytest.MonkeyPatch, stage: str, changed: str
) -> None:
    monkeypatch.setenv(STAGE_VARIABLE, stage)
    with steady_sources(root):
        (root / changed).write_text("another")


def test_a_folder_that_others_watch_is_left_to_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STAGE_VARIABLE, "collect")
    monkeypatch.setenv(WATCHED_VARIABLE, json.dumps([str(root / "pictures")]))
    with steady_sources(root):
        (root / "pictures/a.txt").write_text("another")
    monkeypatch.setenv(WATCHED_VARIABLE, json.dumps([str(root / "pict")]))
    with pytest.raises(DataError, match="changed while"), steady_sources(root):
        (root / "pictures/a.txt").write_text("one more")


@pytest.mark.parametrize(("line", "fails"), [("hog: {bins: 9}", True), ("lbp: {bins: 9}", False)])
def test_a_setting_of_the_stage_may_not_change_and_others_may(
    root: Path, monkeypatch: pytest.MonkeyPatch, line: str, fails: bool
) -> None:
    monkeypatch.setenv(STAGE_VARIABLE, "features@hog")
    text = f"collection: {{path: pictures}}\nfeatures:\n  hog: {{}}\n  {line}\n"
    expected = pytest.raises(DataError, match=r"params\.yaml: features\.hog") if fails else nullcontext()
    with expected, steady_sources(root):
        (root / "params.yaml").write_text(text if not fails else text.replace("  hog: {}\n", ""))


def test_a_failure_of_the_stage_is_not_covered_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STAGE_VARIABLE, "collect")
    with pytest.raises(SystemExit, match="3"):
        command(root, "pictures/a.txt", SystemExit(3))
    with pytest.raises(KeyError):
        command(root, "code/hog.py", KeyError("hog"))
