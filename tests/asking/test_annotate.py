"""Keywords for files and items, from the outputs of the stages, and the command as a user types it."""

from __future__ import annotations

from pathlib import Path

import fitted_project
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.annotate import annotate, suggestions
from mediarank.asking.items import Asked
from mediarank.asking.workspace import Workspace
from mediarank.cli import app
from mediarank.labels import Labels
from mediarank.types import ConfigError, DataError

ITEMS = ["images/fire_000.png", "images/sea_002.png"]


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def test_the_best_words_of_each_picture(space: Workspace) -> None:
    for method in space.model("annotation").methods:
        table = annotate(space, [Asked(item, item=item) for item in ITEMS], 2, method)
        assert table["query"].tolist() == [ITEMS[0], ITEMS[0], ITEMS[1], ITEMS[1]]
        assert table["rank"].tolist() == [1, 2, 1, 2]
        words = [set(found) for _, found in table.groupby("query")["name"]]
        assert "warm" in words[0], method
        assert "cold" in words[1], method
        assert all(
            found.is_monotonic_decreasing
            for _, found in table.groupby("query")["score" if table["probability"].isna().all() else "probability"]
        )


def test_the_command_takes_files_and_items(project: Path) -> None:
    (project / "mine.png").write_bytes((project / "data/raw/media" / ITEMS[1]).read_bytes())
    said = ask("annotate", "mine.png", f"data/raw/media/{ITEMS[0]}", "--words", "2", "--to", "words.csv")
    lines = said.splitlines()
    assert lines[0] == "mine.png"
    assert lines[3].endswith(ITEMS[0])
    table = store.read_csv(project / "words.csv", ("image", "keyword", "score"))
    assert set(table.loc[table["image"] == "mine.png", "keyword"]) >= {"cold"}


def test_a_method_can_be_asked_for(project: Path) -> None:
    assert ITEMS[0] in ask("annotate", ITEMS[0], "--method", "jec")
    with pytest.raises(ConfigError, match="jec"):
        ask("annotate", ITEMS[0], "--method", "tagprop")
    with pytest.raises(DataError, match="neither an item"):
        ask("annotate", "nowhere.png")


def test_suggestions_are_probable_words_that_an_item_does_not_have(project: Path) -> None:
    own = Workspace(project / "data", lambda: fitted_project.COPYING)
    assert suggestions(own).empty, "every item has its words"
    words = own.labels["keywords"]
    lacking = words[words["item"] != ITEMS[0]]
    store.write_labels(project / "data/manifest/labels", Labels({**own.labels.tables, "keywords": lacking}))
    again = Workspace(project / "data", lambda: fitted_project.COPYING)
    table, expected = suggestions(again), annotate(again, [Asked(ITEMS[0], item=ITEMS[0])])
    assert set(table["item"]) == {ITEMS[0]}
    assert table["keyword"].tolist() == expected["name"].tolist()
    assert table["probability"].tolist() == pytest.approx(expected["probability"].tolist(), nan_ok=True)
    (project / "params.yaml").write_text(f"{(project / 'params.yaml').read_text()}collection: {{source: demo}}\n")
    assert f"with {len(table)} suggestions" in ask("export", "csv", "out", "--suggestions")
    written = store.read_csv(project / "out/suggestions.csv", ("item", "keyword", "probability"))
    assert written["keyword"].tolist() == table["keyword"].tolist()
