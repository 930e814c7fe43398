"""What people say on the pages is in the journal at once, shows on the pages, and can be taken back."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from mediarank.explorer.doors import Doors
from mediarank.explorer.snapshot import feedback_folder, label_folder
from mediarank.teaching.journal import Journal
from mediarank.teaching.statements import Statement, active

ITEM, OTHER = "images/fire_000.png", "images/sea_002.png"


@pytest.fixture
def token(doors: Doors) -> dict[str, str]:
    return {"token": doors.page_token}


def holding(project: Path) -> list[Statement]:
    return active(Journal(label_folder(project)).read().statements)


def test_a_label_is_written_shown_with_its_origin_and_taken_back(
    teaching: TestClient, project: Path, token: dict[str, str]
) -> None:
    back = f"/item?item={ITEM}"
    page = teaching.post("/label", data={**token, "item": ITEM, "name": "cat", "answer": "yes", "back": back}).text
    (said,) = holding(project)
    assert (said.item, said.name, said.value, said.origin, said.author) == (ITEM, "cat", True, "explorer", "ada")
    assert "by ada" in page
    assert "1 of 72 items" in teaching.get("/?concept=cat").text, "filters know it at once"
    page = teaching.post("/undo", data={**token, "call": said.id, "back": back}).text
    assert holding(project) == []
    assert "by ada" not in page


def test_a_label_of_the_source_can_be_taken_away_and_comes_back(
    teaching: TestClient, project: Path, token: dict[str, str]
) -> None:
    form = {**token, "item": ITEM, "name": "heat", "kind": "concept", "answer": "removed", "back": "/"}
    teaching.post("/label", data=form)
    assert "23 of 72 items" in teaching.get("/?concept=heat").text
    page = teaching.get("/item", params={"item": ITEM}).text
    assert "taken away, by ada" in page
    assert "the source says yes" in page
    teaching.post("/undo", data={**token, "call": holding(project)[0].call})
    assert "24 of 72 items" in teaching.get("/?concept=heat").text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"item": "images/none.png"}, "not an item"),
        ({"name": "  "}, "Nothing was written"),
        ({"answer": "perhaps"}, "answer"),
        ({"name": "Heats"}, "heat"),
        ({"token": "guessed"}, "earlier start"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    teaching: TestClient, project: Path, token: dict[str, str], change: dict[str, str], words: str
) -> None:
    answer = teaching.post("/label", data={**token, "item": ITEM, "name": "heat", "answer": "yes", **change})
    assert answer.status_code in (400, 404)
    assert words in answer.text
    assert holding(project) == []


def test_after_a_change_the_browser_stays_on_this_server(teaching: TestClient, token: dict[str, str]) -> None:
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        form = {**token, "item": ITEM, "name": "heat", "answer": "yes", "back": back}
        answer = teaching.post("/label", data=form, follow_redirects=False)
        assert answer.headers["location"].startswith("/?said=")


def test_the_game_writes_ordered_pairs(teaching: TestClient, project: Path, token: dict[str, str]) -> None:
    form = {**token, "name": "warm", "first": OTHER, "second": ITEM, "relation": "<", "round": "3"}
    page = teaching.post("/attributes/say", data=form).text
    (said,) = holding(project)
    assert (said.kind, said.item, said.other, said.value) == ("pair", ITEM, OTHER, ">"), "the second shows more"
    assert "The model" in page
    assert "1 ordered pairs" in page
    assert teaching.post("/attributes/say", data={**form, "relation": "?"}).status_code == 404
    assert len(holding(project)) == 1


def test_ticks_are_kept_for_a_scope_and_taken_back(teaching: TestClient, project: Path, token: dict[str, str]) -> None:
    def order(page: str) -> list[str]:
        return re.findall(r'aria-label="(\S+) fits"', page)

    plain = order(teaching.get("/search", params={"item": ITEM}).text)
    form = {**token, "item": ITEM, "yes": plain[30], "no": plain[0], "scope": "query"}
    kept = teaching.post("/search/keep", data=form).text
    assert order(kept)[0] == plain[30], "what was said to fit comes first"
    assert "Kept for this search" in kept
    assert order(teaching.get("/search", params={"item": OTHER}).text)[0] != plain[30]
    (said,) = active(Journal(feedback_folder(project)).read().statements)
    assert (said.kind, said.name, said.origin) == ("relevance", "query", "explorer")
    undone = teaching.post(
        "/undo", data={**token, "call": said.id, "stream": "feedback", "back": f"/search?item={ITEM}"}
    )
    assert order(undone.text) == plain
    assert teaching.post("/search/keep", data={**form, "scope": "the world"}).status_code == 404
    assert teaching.post("/search/keep", data={**token, "item": ITEM}).status_code == 404, "nothing was ticked"


def test_two_browsers_and_the_command_line_lose_nothing(
    teaching: TestClient, project: Path, token: dict[str, str]
) -> None:
    from mediarank.explorer.said import say_labels
    from mediarank.explorer.snapshot import Snapshots

    def browser(number: int) -> None:
        for k in range(0, 24, 3):
            form = {**token, "item": f"images/fire_{k:03d}.png", "name": f"name{number}", "answer": "yes", "new": "1"}
            if k != 9:
                teaching.post("/label", data=form, follow_redirects=False)

    threads = [threading.Thread(target=browser, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    command = Snapshots(project, lambda: None).current()  # type: ignore[arg-type, return-value]
    for item in ("images/leaf_001.png", "images/leaf_004.png"):
        say_labels(command, [item], "name2", "yes", new=True)
    for thread in threads:
        thread.join()
    assert len(holding(project)) == 7 + 7 + 2
    assert "2 of 72 items" in teaching.get("/?concept=name2").text


def test_cross_origin_probes_change_nothing(teaching: TestClient, project: Path, token: dict[str, str]) -> None:
    posts = ["/label", "/undo", "/attributes/say", "/search/keep", "/search/file", "/review/say", "/review/undo"]
    posts += ["/review/again", "/review/learn", "/versions/run", "/versions/back", "/renew"]
    form = {"item": ITEM, "name": "heat", "answer": "yes", "queue": "next", "learn": "heat", "version": "x"}
    probes = [
        ({"Origin": "http://evil.example"}, token, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, token, 403),
        ({"Host": "evil.example:8765"}, token, 421),
        ({}, {"token": "guessed"}, 400),
    ]
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*") if path.is_file()}
    for path in posts:
        for headers, given, status in probes:
            assert teaching.post(path, data={**form, **given}, headers=headers).status_code == status, path
        assert teaching.get(path).status_code in (404, 405, 422), "a link changes nothing"
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*") if path.is_file()} == before
