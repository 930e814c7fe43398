"""`mediarank label`: what is written, what is refused, what can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_statements import made_labels, made_manifest
from typer.testing import CliRunner

from mediarank import store
from mediarank.cli import app
from mediarank.teaching.journal import Journal
from mediarank.types import DataError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    store.write_manifest(tmp_path / "data/manifest/manifest.parquet", made_manifest(["a.jpg", "b.jpg", "c.jpg"]))
    store.write_labels(tmp_path / "data/manifest/source_labels", made_labels(concepts=[("a.jpg", "boat", True)]))
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["label", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def held(project: Path) -> int:
    return len(Journal(project / "labels/journal").read().statements)


def test_add_list_undo(project: Path) -> None:
    run("add", "--name", "boat", "--yes", "b.jpg", "c.jpg", "--no", "a.jpg")
    listed = run("list", "--name", "boat")
    assert "3 statements hold" in listed
    assert "the source says yes" in listed
    run("remove", "--name", "boat", "--item", "c.jpg")
    run("undo")
    assert "3 statements hold" in run("list")
    run("undo")
    assert "0 statements hold" in run("list")
    assert held(project) == 3 + 1 + 1 + 3


def test_pairs(project: Path) -> None:
    run("add", "--name", "open", "--more", "a.jpg", "--less", "b.jpg", "--kind", "pair")
    assert "open > a.jpg than b.jpg" in run("list")
    with pytest.raises(DataError, match="both"):
        run("add", "--name", "open", "--more", "a.jpg")


def test_what_is_wrong_writes_nothing(project: Path) -> None:
    for words in (["--yes", "x.jpg"], ["--yes", "a.jpg", "--no", "a.jpg"], []):
        with pytest.raises(DataError):
            run("add", "--name", "boat", *words)
    with pytest.raises(DataError, match="--new"):
        run("add", "--name", "Boats", "--yes", "a.jpg")
    assert held(project) == 0


def test_export_and_import(project: Path) -> None:
    run("add", "--name", "boat", "--yes", "b.jpg", "--no", "a.jpg")
    run("export", "said.csv")
    run("undo")
    run("import", "said.csv")
    assert "2 statements hold" in run("list")
    assert {s.origin for s in Journal(project / "labels/journal").read().statements} == {"cli", "import"}
    (project / "bad.csv").write_text("item,concept,relevant\na.jpg,boat,1\nx.jpg,boat,1\n")
    before = held(project)
    with pytest.raises(DataError, match="Line 3"):
        run("import", "bad.csv")
    assert held(project) == before
