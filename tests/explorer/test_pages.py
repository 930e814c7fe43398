"""Every page, through a client: what it shows, that it works as plain links, and that names are escaped."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import cv2
import fitted_project
import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from making_media import encoded

from mediarank import store
from mediarank.asking.annotate import annotate
from mediarank.asking.items import Asked
from mediarank.asking.workspace import Workspace
from mediarank.explorer.app import PAGES, create_app
from mediarank.explorer.doors import Doors
from mediarank.explorer.views.search import added_by_name
from mediarank.systems.model import Needs
from mediarank.types import Manifest

ITEM = "images/fire_000.png"
HOSTILE = "images/fire_<img src=x onerror=alert(1)>.png"


def links(text: str) -> set[str]:
    return {html.unescape(found) for found in re.findall(r'(?:href|src|action|poster)="([^"]+)"', text)}


@pytest.mark.parametrize("path", [path for path, _ in PAGES])
def test_every_page_of_the_navigation_answers_and_all_its_links_do(client: TestClient, path: str) -> None:
    page = client.get(path)
    assert page.status_code == 200
    assert 'aria-current="page"' in page.text
    for address in sorted(links(page.text))[:80]:
        if address.startswith("/") and "/renew" not in address and "/file" not in address:
            answer = client.get(address)
            assert answer.status_code in (200, 405), address


def test_the_grid_shows_what_the_filters_leave(client: TestClient) -> None:
    page = client.get("/?class=fire&keyword=-cold").text
    assert "24 of 72 items" in page
    assert page.count('class="tile"') == 24
    assert "sea_002" not in page
    assert client.get("/grid?class=fire&start=20").text.count('class="tile"') == 4
    assert "No item has all of these" in client.get("/?class=fire&keyword=cold").text


def test_an_item_has_labels_words_attributes_and_a_way_on(client: TestClient) -> None:
    page = client.get("/item", params={"item": ITEM}).text
    assert "/search?item=images%2Ffire_000.png" in page
    for word in ("heat", "warm", "Suggested keywords", "Attributes"):
        assert word in page
    assert client.get("/item", params={"item": "images/none.png"}).status_code == 404


def test_pictures_come_by_item_only(client: TestClient) -> None:
    thumbnail = client.get("/thumbnail", params={"item": ITEM})
    assert thumbnail.headers["content-type"] == "image/jpeg"
    assert thumbnail.content.startswith(b"\xff\xd8")
    assert client.get("/picture", params={"item": ITEM}).headers["content-type"] == "image/png"
    part = client.get("/play", params={"item": ITEM}, headers={"Range": "bytes=10-19"})
    assert part.status_code == 206
    assert len(part.content) == 10
    for path in (
        "../../../etc/passwd",
        "/etc/passwd",
        "data/raw/media/../../params.yaml",
        "images/../images/fire_000.png",
    ):
        for view in ("/thumbnail", "/picture", "/play", "/item"):
            assert client.get(view, params={"item": path}).status_code == 404, path


def test_ticks_rank_anew_and_say_what_moved(client: TestClient) -> None:
    plain = client.get("/search", params={"item": ITEM}).text
    found = re.findall(r'aria-label="(\S+) fits"', plain)
    assert ITEM not in found
    ticked = client.get("/search", params={"item": ITEM, "yes": [found[30]], "no": [found[0]]}).text
    again = re.findall(r'aria-label="(\S+) fits"', ticked)
    assert again != found
    assert again.index(found[30]) < found.index(found[30])
    assert "▲" in ticked
    assert "1 fit, 1 don&#39;t" in ticked or "1 fit, 1 don't" in ticked
    several = client.get("/search", params={"item": [ITEM, "images/sea_002.png"]}).text
    assert "sea" in several
    assert "served" in several


def test_a_dropped_file_is_described_and_searched_with(client: TestClient, doors: Doors, explored: Path) -> None:
    content = (explored / "data/raw/media" / ITEM).read_bytes()
    answer = client.post(
        "/search/file",
        files={"file": ("mine <b>.png", content)},
        data={"token": doors.page_token},
        follow_redirects=True,
    )
    assert answer.status_code == 200
    assert re.findall(r'aria-label="(\S+) fits"', answer.text)[0] == ITEM, "its copy in the collection comes first"
    assert "mine &lt;b&gt;.png" in answer.text
    refused = client.post("/search/file", files={"file": ("x.png", b"no picture")}, data={"token": doors.page_token})
    assert refused.status_code == 404
    assert "can&#39;t be used" in refused.text or "can't be used" in refused.text


def test_names_from_data_are_escaped(client: TestClient) -> None:
    page = client.get("/quarantine").text
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "<script>" not in client.get("/item", params={"item": "<script>alert(1)</script>"}).text


def test_a_newer_version_is_announced_and_shown_after_a_click(project: Path) -> None:
    doors = Doors("127.0.0.1", 8765)
    app = create_app(project, doors, lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        assert "newer version" not in client.get("/").text
        fitted_project.make(project, items=60)
        page = client.get("/").text
        assert "newer version" in page
        assert "of 72 items" in page, "until then the old one is shown"
        assert client.get("/thumbnail", params={"item": ITEM}).status_code == 200
        client.post("/renew", data={"token": doors.page_token, "back": "//evil.example/"})
        assert "of 60 items" in client.get("/").text


def test_the_line_of_find_follows_the_probabilities(client: TestClient) -> None:
    page = client.get("/find?name=heat").text
    assert "items show it in all" in page
    assert "held-out items" in page
    everything = client.get("/find?name=heat&cut=0").text
    assert "heat: 72 of 72 items above the line" in everything
    assert "recall 100 %" in everything
    fresh = client.get("/find?name=heat&fresh=1").text
    assert "fire_000" not in fresh.partition("<section")[2]
    assert client.get("/find?name=het").status_code == 404
    assert client.get("/find?name=heat&method=none").status_code == 400


def test_filters_by_probability_and_sorting_by_score(client: TestClient) -> None:
    assert (
        client.get("/?likely=concept:heat&least=0.5", follow_redirects=False)
        .headers["location"]
        .endswith("concept=heat%3E0.5")
    )
    likely = client.get("/?concept=heat>0.5").text
    tiles = re.findall(r'data-item="images/(\w+?)_', likely)
    assert tiles
    assert tiles.count("fire") / len(tiles) > 0.8
    first = re.findall(r'data-item="images/(\w+?)_', client.get("/?order=score:heat").text)[:10]
    assert first.count("fire") >= 9


def test_quarantined_items_are_shown_only_if_asked_for(project: Path) -> None:
    path = project / "data/manifest/manifest.parquet"
    table = store.read_manifest(path).table
    bad = table["item_id"] == ITEM
    table = table.assign(
        status=table["status"].where(~bad, "quarantined"), reason=table["reason"].where(~bad, "cut off")
    )
    store.write_manifest(path, Manifest(table))
    (project / "data/raw/media" / ITEM).write_bytes(b"no picture at all")
    cut, listed = "images/fire_003.png", project / "data/frames/quarantine.csv"
    noise = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    (project / "data/raw/media" / cut).write_bytes(encoded(noise, "JPEG")[:2500])
    rows = store.read_quarantine(listed)
    store.write_csv(listed, pd.concat([rows, rows.assign(item_id=cut, source=cut, reason="it ends too early")]))
    app = create_app(project, Doors("127.0.0.1", 8765), lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        assert "70 of 70 items" in client.get("/").text
        page = client.get("/?quarantine=quarantined").text
        assert re.findall(r'data-item="([^"]+)"', page) == [ITEM, cut]
        nothing, top = (client.get("/thumbnail", params={"item": item}) for item in (ITEM, cut))
        assert nothing.headers["content-type"] == "image/svg+xml"
        assert top.headers["content-type"] == "image/jpeg", "what is left of it is shown"
        left = cv2.imdecode(np.frombuffer(top.content, np.uint8), cv2.IMREAD_COLOR)
        assert left[:10].std() > 20 > left[-10:].std(), "the upper part is there, the rest is grey"
        assert "cut off" in client.get("/item", params={"item": ITEM}).text
        page = client.get("/quarantine").text
        assert "it ends too early" in page
        assert "an intact copy of the file" in page
        assert f"/thumbnail?item={quote(cut, safe='')}" in page


def test_the_report_is_served_with_its_own_policy(project: Path) -> None:
    app = create_app(project, Doors("127.0.0.1", 8765), lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        (project / "data/report/report.html").unlink(missing_ok=True)
        assert "make run" in client.get("/report").text
        (project / "data/report/report.html").write_text("<html><style>p { color: red }</style></html>")
        answer = client.get("/report")
        assert "color: red" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "style-src 'unsafe-inline'" in policy
        assert "script" not in policy, "default-src 'none' allows none"
        assert 'href="/report"' in client.get("/").text


def test_lineage_says_in_words_that_nothing_was_recorded(project: Path) -> None:
    app = create_app(project, Doors("127.0.0.1", 8765), lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        answer = client.get("/item/lineage", params={"item": ITEM})
        assert answer.status_code == 200
        assert "recorded" in answer.text
        assert client.get("/item/lineage", params={"item": "none"}).status_code == 404


def test_a_hostile_name_is_an_item_like_any_other(client: TestClient) -> None:
    for address in ("/item", "/search"):
        page = client.get(address, params={"item": HOSTILE})
        assert page.status_code == 200
        assert "<img src=x" not in page.text
    assert client.get("/thumbnail", params={"item": HOSTILE}).status_code == 200


def test_before_the_first_run_the_page_says_what_to_do(tmp_path: Path) -> None:
    app = create_app(tmp_path, Doors("127.0.0.1", 8765), lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False) as client:
        page = client.get("/")
        assert page.status_code in (400, 404)
        assert "manifest" in page.text


@pytest.mark.parametrize("method", ["posteriors", "blend"])
def test_search_says_why_where_classes_were_learned(project: Path, method: str) -> None:
    config = replace(fitted_project.CONFIG, methods=("uni_con", method), serve=method, class_scores=("lab",))
    fitted_project.fit(project / "data", "retrieval", config, Needs(config.features))
    app = create_app(project, Doors("127.0.0.1", 8765), lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        for ticks in ({}, {"yes": "images/fire_003.png"}):
            page = client.get("/search", params={"item": ITEM, **ticks})
            assert page.status_code == 200
            assert re.search(r'title="images/[^"]+: [^"]*kind [+-]\d', page.text)


def test_suggested_keywords_have_the_probabilities_that_annotate_gives(client: TestClient, explored: Path) -> None:
    workspace = Workspace(explored / "data", lambda: fitted_project.COPYING)
    table = annotate(workspace, [Asked(ITEM, item=ITEM)], 8)
    assert table["probability"].notna().all()
    page = client.get("/item", params={"item": ITEM}).text
    for word, chance in zip(table["name"], table["probability"], strict=True):
        assert re.search(rf'{word} <span class="count">{chance:.0%}</span>', page), word


def test_reasons_of_one_name_are_added_up() -> None:
    parts, names = added_by_name(np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 0.5]]), ["kind", "hog", "kind"])
    assert names == ["kind", "hog"]
    assert parts.tolist() == [[5.0, 2.0], [1.0, -1.0]]
