"""Review: lists, one decision at a time or many, undo, and learning at once."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pandas as pd
import pytest
from fastapi.testclient import TestClient

from mediarank import store
from mediarank.explorer.doors import Doors
from mediarank.explorer.snapshot import label_folder
from mediarank.labels import Labels
from mediarank.teaching.journal import Journal
from mediarank.teaching.statements import Statement, active

WRONG = "images/sea_002.png"


@pytest.fixture
def project(project: Path) -> Path:
    """A third of the items is not labelled with concepts, and one class is wrong."""
    labels = store.read_labels(project / "data/manifest/labels")
    tables = dict(labels.tables)
    items = sorted(set(tables["concepts"]["item"]))
    tables["concepts"] = tables["concepts"][tables["concepts"]["item"].isin(items[::3] + items[1::3])]
    classes = tables["classes"]
    tables["classes"] = classes.assign(**{"class": classes["class"].where(classes["item"] != WRONG, "fire")})
    tables["keywords"] = pd.DataFrame({"item": [], "keyword": []}, dtype=str)
    store.write_labels(project / "data/manifest/labels", Labels(tables))
    return project


def holding(project: Path) -> list[Statement]:
    return active(Journal(label_folder(project)).read().statements)


def fields(page: str, doors: Doors) -> dict[str, str]:
    """The hidden fields of a list."""
    names = ("queue", "name", "id")
    found = {name: re.search(rf'<input type="hidden" name="{name}" value="([^"]*)">', page) for name in names}
    return {"token": doors.page_token, **{name: html.unescape(m.group(1)) for name, m in found.items() if m}}


def test_answers_are_written_one_after_the_other_and_undone(teaching: TestClient, project: Path, doors: Doors) -> None:
    page = teaching.get("/review?queue=next&name=heat").text
    assert "Does it show heat?" in page
    form = fields(page, doors)
    (first,) = re.findall(r"1 of \d+ · (\S+)</p>", page)
    page = teaching.post("/review/say", data={**form, "pick": "0", "answer": "yes"}).text
    assert "1 of " in page
    assert f"· {first}<" not in page, "the next entry is shown"
    assert [(s.item, s.name, s.value) for s in holding(project)] == [(first, "heat", True)]
    teaching.post("/review/say", data={**form, "pick": "1", "answer": "unsure"})
    assert len(holding(project)) == 1, "unsure is not written"
    teaching.post("/review/undo", data=form)
    page = teaching.post("/review/undo", data=form).text
    assert holding(project) == []
    assert f"· {first}<" in page
    assert "0 of " in page


def test_many_are_decided_at_once(teaching: TestClient, project: Path, doors: Doors) -> None:
    form = fields(teaching.get("/review?queue=next&name=heat").text, doors)
    teaching.post("/review/say", data={**form, "pick": ["0", "2", "3"], "answer": "no"})
    assert [s.value for s in holding(project)] == [False] * 3
    assert len({s.call for s in holding(project)}) == 1
    assert teaching.post("/review/say", data={**form, "answer": "no"}).status_code == 404, "nothing was ticked"
    teaching.post("/review/again", data=form)
    stale = teaching.post("/review/say", data={**form, "pick": "0", "answer": "yes"})
    assert stale.status_code == 404
    assert "made anew" in stale.text


def test_a_wrong_class_is_found_and_put_right(teaching: TestClient, project: Path, doors: Doors) -> None:
    page = teaching.get("/review?queue=errors").text
    tiles = re.findall(r'title="([^":]+): [^"]*"', page)
    place = tiles.index(WRONG)
    shown = teaching.get(f"/review?queue=errors&at={place}").text
    assert "Is it sea rather than fire?" in shown
    teaching.post("/review/say", data={**fields(shown, doors), "pick": str(place), "answer": "yes"})
    (said,) = holding(project)
    assert (said.kind, said.item, said.name, said.value) == ("class", WRONG, "sea", True)


def test_what_an_item_shows_is_asked_where_no_name_is_given(teaching: TestClient, project: Path, doors: Doors) -> None:
    page = teaching.get("/review?queue=next").text
    assert "What does it show?" in page
    form = {**fields(page, doors), "pick": "0", "answer": "yes"}
    assert teaching.post("/review/say", data=form).status_code == 404
    teaching.post("/review/say", data={**form, "shows": "heat"})
    assert [(s.name, s.value) for s in holding(project)] == [("heat", True)]


def test_learning_now_shows_before_and_after_and_can_be_searched_with(
    teaching: TestClient, project: Path, doors: Doors
) -> None:
    token = {"token": doors.page_token}
    for k in range(0, 24, 3):
        item = f"images/leaf_{k + 1:03d}.png"
        teaching.post("/label", data={**token, "item": item, "name": "green", "answer": "yes", "new": "1"})
    assert teaching.get("/find?name=green").status_code == 404
    page = teaching.post("/review/learn", data={**token, "learn": "green"}).text
    assert "8 yes, 0 no" in page
    assert "average precision" in page
    found = teaching.get("/find?name=green").text
    assert "learned now" in found
    first = re.findall(r'title="(images/\w+)', found)[:8]
    assert sum("leaf" in item for item in first) >= 6
    again = teaching.post("/review/learn", data={**token, "learn": "heat"}).text
    assert "Before" in again
    assert teaching.post("/review/learn", data={**token, "learn": "nothing"}).status_code == 404


def test_an_unknown_list_is_refused(teaching: TestClient) -> None:
    assert teaching.get("/review?queue=magic").status_code == 404
    assert "Nothing to review" in teaching.get("/review?queue=duplicates").text
