"""Comparing and sorting by an attribute, from the outputs of the stages, and the two commands as a user types them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.compare import Comparison, compare, in_order, order_page
from mediarank.asking.items import Asked
from mediarank.asking.workspace import Workspace
from mediarank.cli import app
from mediarank.types import ConfigError, DataError

WARM, COLD = "images/fire_000.png", "images/sea_002.png"


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def test_the_collection_in_order(space: Workspace) -> None:
    order = in_order(space, "warm")
    assert order["place"].tolist() == list(range(1, 73))
    assert order["score"].is_monotonic_increasing
    assert order["item"].head(20).str.contains("sea").mean() > 0.8
    assert order["item"].tail(20).str.contains("fire").mean() > 0.8
    for method in space.model("attributes").methods:
        assert len(in_order(space, "warm", method)) == 72


def test_a_margin_is_the_difference_of_two_scores(space: Workspace) -> None:
    order = in_order(space, "warm").set_index("item")["score"]
    warm, cold = Asked(WARM, item=WARM), Asked(COLD, item=COLD)
    answer = compare(space, "Warm", warm, cold)
    assert answer.margin == pytest.approx(order[WARM] - order[COLD], abs=1e-5)
    assert str(answer) == f"{WARM} shows more warm than {COLD}"
    turned = compare(space, "warm", cold, warm)
    assert (str(turned), turned.margin) == (str(answer), -answer.margin)
    assert str(Comparison("open", "a", "b", 0.0)) == "a and b show open equally"


def test_a_page_shows_both_ends_and_even_steps_between(space: Workspace) -> None:
    order = in_order(space, "warm").head(24)
    shown: list[str] = []
    page = order_page("warm <b>", order, lambda item: shown.append(item), 4)
    assert shown == order["item"].iloc[[0, 8, 15, 23]].tolist()
    assert "warm &lt;b&gt;" in page
    assert "even steps" in page
    assert "Every item" in order_page("warm", order, lambda item: None, 100)


def test_compare_answers_with_the_margin_for_files_as_for_items(project: Path) -> None:
    (project / "mine.png").write_bytes((project / "data/raw/media" / WARM).read_bytes())
    said = ask("compare", "mine.png", f"data/raw/media/{COLD}", "--attribute", "warm")
    inside = ask("compare", WARM, COLD, "--attribute", "warm")
    assert said.splitlines()[0].startswith("mine.png shows more warm than")
    assert said.splitlines()[1] == inside.splitlines()[1], "a copy from outside is as warm as the original"
    assert float(said.splitlines()[1].split()[1]) > 0


def test_sort_writes_a_table_and_a_page(project: Path) -> None:
    said = ask("sort", "--attribute", "warm", "--count", "6", "--to", "warm.csv")
    assert "72 items" in said
    assert list(pd.read_csv(project / "warm.csv").columns) == ["place", "item", "score"]
    assert (project / "warm.html").read_text().count("data:image/jpeg") == 6


def test_what_is_not_there_is_reported(project: Path) -> None:
    with pytest.raises(DataError, match="warm"):
        ask("sort", "--attribute", "wram")
    with pytest.raises(DataError, match="neither an item of the collection nor a file"):
        ask("compare", WARM, "images/99.png", "--attribute", "warm")
    with pytest.raises(ConfigError, match="magic"):
        ask("sort", "--attribute", "warm", "--method", "magic")
    facts = project / "data/systems/attributes/model.json"
    store.write_json(facts, {"skipped": "no orderings"})
    with pytest.raises(DataError, match="no orderings"):
        ask("sort", "--attribute", "warm")
    facts.unlink()
    with pytest.raises(DataError, match="dvc repro"):
        ask("sort", "--attribute", "warm")
