"""`mediarank search` and `mediarank feedback`, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.cli import app
from mediarank.types import DataError

RUNNER = CliRunner()


@pytest.fixture
def workspace(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ids = [f"images/{k:02d}.png" for k in range(24)]
    frames = pd.DataFrame({"frame_id": ids, "item_id": ids, "kind": "image", "index": 0, "path": ids, "sha256": ids})
    store.write_table(project / "data/frames/frames.parquet", frames)
    (project / "data/frames/media").symlink_to(project)
    (project / "params.yaml").write_text("features: {moments: {family: colour_moments}}")
    monkeypatch.chdir(project)
    return project


def ask(*words: str) -> str:
    result = RUNNER.invoke(app, words)
    if result.exception:
        raise result.exception
    return result.stdout


def test_search_lists_hits_says_why_and_writes_a_page(workspace: Path) -> None:
    said = ask("search", "images/00.png", "--count", "4", "--explain")
    assert said.count("data/raw/media/images/") == 4
    assert "images/00.png" not in said.split("Why")[0], "the query is no hit"
    assert "moments/" in said
    page = (workspace / "search.html").read_text()
    assert "Why images/" in page
    assert page.count("data:image/jpeg") == 5, "the query and its hits"


def test_a_picture_from_outside_finds_itself(workspace: Path) -> None:
    (workspace / "mine.png").write_bytes((workspace / "images/07.png").read_bytes())
    assert "images/07.png" in ask("search", "mine.png", "--count", "1")


def test_feedback_changes_the_next_search(workspace: Path) -> None:
    before = ask("search", "images/00.png", "--count", "23")
    last = before.splitlines()[22].split()[-1]
    first = before.splitlines()[0].split()[-1]
    for _ in range(8):
        ask("feedback", "images/00.png", "--relevant", last, "--irrelevant", first)
    after = ask("search", "images/00.png", "--count", "23")
    assert after != before
    places = [line.split()[-1] for line in after.splitlines()[:23]]
    assert places.index(last) < places.index(first)


def test_what_is_not_there_is_reported(workspace: Path) -> None:
    with pytest.raises(DataError, match="neither an item of the collection nor a file"):
        ask("search", "images/99.png")
    with pytest.raises(DataError, match="not in the collection"):
        ask("feedback", "images/00.png", "--relevant", "images/99.png", "--irrelevant", "images/01.png")
