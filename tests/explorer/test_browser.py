"""The explorer's stories in a real Chromium: by mouse and keys, in light and dark, with axe-core's rules.

Any Chromium that is installed will do: the one that MEDIARANK_CHROMIUM names, or the first on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import explorer as benchmark
import fitted_project
import pytest
import uvicorn
from waiting import wait_for

from mediarank.explorer.app import create_app
from mediarank.explorer.doors import Doors
from mediarank.explorer.snapshot import feedback_folder, label_folder
from mediarank.teaching.journal import Journal
from mediarank.teaching.statements import Statement, active

HOSTILE = "images/fire_<img src=x onerror=alert(1)>.png"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ITEM = "images/fire_000.png"
PAGES = (
    "/", "/?class=fire&concept=heat>0.5&order=score:heat", f"/item?item={ITEM}", "/find", "/find?name=heat",
    "/search", f"/search?item={ITEM}&yes=images/fire_003.png", "/attributes", "/review", "/review?queue=next&name=heat",
    "/versions", "/quarantine", "/item?item=none",
)  # fmt: skip


def chromium() -> str | None:
    named = os.environ.get("MEDIARANK_CHROMIUM")
    return named or next((found for name in CHROMIUMS if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        reason = "No Chromium is installed; .ci/install_chromium.sh installs one, or MEDIARANK_CHROMIUM names it."
        print(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # it waits 5 s by default, too little where many tests share the processors
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(explored: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of an explorer that really listens, and its project."""
    root = tmp_path_factory.mktemp("site") / "project"
    shutil.copytree(explored, root)
    shutil.copytree(root / "data/manifest/labels", root / "data/manifest/source_labels")
    with listening(root) as address:
        yield address, root


@contextmanager
def listening(root: Path) -> Iterator[str]:
    """An explorer over a project, in a thread; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = create_app(root, Doors("127.0.0.1", port), lambda: fitted_project.COPYING)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def page(browser: Any, site: tuple[str, Path]) -> Iterator[Any]:
    """A page that must not complain: no error in the console, no script from data."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=site[0])
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield opened
    context.close()
    assert [words for words in complaints if "404" not in words] == []


def holding(root: Path) -> list[Statement]:
    return active(Journal(label_folder(root)).read().statements)


def test_filter_open_an_item_and_look_for_more_like_it(page: Any) -> None:
    page.goto("/")
    page.get_by_role("link", name="fire 24").first.click()
    page.wait_for_url("**/?class=fire")
    assert "24 of 72" in page.locator("h1").inner_text()
    page.locator(".tile").first.click()
    page.wait_for_url("**/item?**")
    first = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != first)
    page.keyboard.press("m")
    page.wait_for_url("**/search?**")
    assert page.locator(".hit").count() == 48


def test_a_tick_ranks_anew_at_once_and_can_be_kept_and_taken_back(page: Any, site: tuple[str, Path]) -> None:
    page.goto(f"/search?item={ITEM}")
    fits = page.locator("[aria-label$=' fits']")
    wanted = fits.nth(20).get_attribute("aria-label")
    fits.nth(20).click()
    page.wait_for_url("**yes=**")
    assert fits.nth(0).get_attribute("aria-label") == wanted
    assert page.locator(".moved").count() > 0
    page.keyboard.press("k")
    page.wait_for_url("**said=**")
    events = active(Journal(feedback_folder(site[1])).read().statements)
    assert [event.value["relevant"] for event in events] == [[str(wanted).removesuffix(" fits")]]
    page.get_by_label("undo this feedback").click()
    page.wait_for_selector("text=Kept for this search", state="detached")
    assert active(Journal(feedback_folder(site[1])).read().statements) == []


def test_review_takes_one_key_per_decision(page: Any, site: tuple[str, Path]) -> None:
    from playwright.sync_api import expect

    root = site[1]
    page.goto("/review?queue=errors")
    decided = page.locator("[data-say]").first
    # Other stories write to the same journal, and decide in the same list.
    start, said = int(decided.inner_text().partition(" ")[0]), len(holding(root))
    for key, count in (("y", 1), ("n", 2), ("u", 3), ("z", 2), ("z", 1)):
        page.keyboard.press(key)
        expect(decided).to_have_text(re.compile(f"^{start + count} of"))
    assert len(holding(root)) == said + 1
    place = page.locator(".decide .count").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".decide .count")).not_to_have_text(place)
    open_ones = page.locator("input[name=pick][type=checkbox]:not([data-decided])")
    open_ones.nth(3).check()
    open_ones.nth(4).check()
    page.locator(".bar button", has_text="No").click()
    expect(decided).to_have_text(re.compile(f"^{start + 3} of"))
    assert len(holding(root)) == said + 3


def test_keys_that_come_quicker_than_the_page_are_taken_one_after_the_other(
    page: Any, explored: Path, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    root = tmp_path / "project"
    shutil.copytree(explored, root)
    shutil.copytree(root / "data/manifest/labels", root / "data/manifest/source_labels")
    held: list[Any] = []

    def hold_the_first(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    with listening(root) as address:
        page.goto(f"{address}/review?queue=errors")
        expect(page.locator("[data-key=z]")).to_be_disabled()  # there is nothing to undo before the first answer
        page.route("**/review/**", hold_the_first)
        for key in "ynyuzy":
            page.keyboard.press(key)
        wait_for(lambda: held or page.wait_for_timeout(50))
        held[0].continue_()
        expect(page.locator("[data-say]").first).to_have_text(re.compile("^4 of"))
        # The journal is one answer behind the page; requests pass `hold_the_first` only while the page is waited for.
        wait_for(lambda: len(holding(root)) == 4 or page.wait_for_timeout(50))
        page.wait_for_load_state("networkidle")
        page.goto("about:blank")  # a page that still loads its pictures would complain of a server that ends


def test_a_label_is_added_on_the_item_page_and_the_name_is_learned(page: Any, site: tuple[str, Path]) -> None:
    before = len(holding(site[1]))
    page.goto(f"/item?item={ITEM}")
    page.keyboard.press("l")
    page.keyboard.type("glow")
    page.get_by_label("a new name").check()
    page.get_by_role("button", name="Add").click()
    page.wait_for_selector("text=by ada")
    assert len(holding(site[1])) == before + 1
    page.goto("/review")
    page.get_by_label("Name to learn").fill("heat")
    page.get_by_role("button", name="Learn now").click()
    page.wait_for_selector("text=average precision")
    page.get_by_role("link", name="Find with it").click()
    page.wait_for_url("**/find?**")
    assert "learned now" in page.locator("select[name=method]").inner_text()


def test_the_game_and_the_line_of_find(page: Any, site: tuple[str, Path]) -> None:
    from playwright.sync_api import expect

    before = len(holding(site[1]))
    page.goto("/attributes?name=warm")
    shown = page.locator(".choice img").first.get_attribute("src")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".choice img").first).not_to_have_attribute("src", str(shown))
    assert holding(site[1])[-1].kind == "pair"
    page.keyboard.press("z")
    page.wait_for_selector("#game .notice", state="detached")
    assert len(holding(site[1])) == before
    page.goto("/find?name=heat")
    line = page.get_by_label("Least probability above the line")
    line.focus()
    line.press("End")
    line.dispatch_event("change")
    page.wait_for_url("**cut=1**")
    assert "heat: 0 of" in page.locator("h1").inner_text()


def test_a_file_is_dropped(page: Any, site: tuple[str, Path]) -> None:
    page.goto("/search")
    page.set_input_files("input[type=file]", str(site[1] / "data/raw/media" / ITEM))
    page.get_by_role("button", name="Search with it").click()
    page.wait_for_url("**/search?file=**")
    assert page.locator("[aria-label$=' fits']").first.get_attribute("aria-label") == f"{ITEM} fits"


def test_a_hostile_name_is_only_text(page: Any) -> None:
    page.goto("/?text=onerror")
    assert page.locator(".tile").get_attribute("title") == HOSTILE
    page.locator(".tile").click()
    page.wait_for_url("**/item?**")
    assert page.locator("h1").inner_text() == HOSTILE
    page.get_by_role("link", name="More like this").click()
    page.wait_for_url("**/search?**")
    page.goto("/quarantine")
    assert page.locator("img[src=x]").count() == 0


def test_pages_work_without_scripts(browser: Any, site: tuple[str, Path]) -> None:
    context = browser.new_context(base_url=site[0], java_script_enabled=False)
    page = context.new_page()
    page.goto("/review?queue=errors")
    page.locator(".decide button", has_text="Unsure").click()
    assert page.locator("[data-say]").inner_text().partition(" ")[0] not in ("", "0")
    page.goto("/attributes")
    page.get_by_role("link", name="Another two").click()
    assert "round=1" in page.url
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe_on_any_page(browser: Any, site: tuple[str, Path], scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(base_url=site[0], color_scheme=scheme, viewport={"width": 1280, "height": 800})
    page, axe, found = context.new_page(), Axe(), []
    for address in PAGES:
        page.goto(address)
        for one in axe.run(page).response["violations"]:
            if one["impact"] in ("serious", "critical"):
                nodes = "; ".join(node["html"][:120] for node in one["nodes"][:3])
                found.append(f"{address}: {one['id']}: {nodes}")
    context.close()
    assert found == []


def test_nothing_is_wider_than_a_narrow_screen(browser: Any, site: tuple[str, Path]) -> None:
    context = browser.new_context(base_url=site[0], viewport={"width": 400, "height": 800})
    page = context.new_page()
    for address in PAGES:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= 400"), address
    context.close()


def test_two_browsers_and_the_command_line_at_once_lose_nothing(browser: Any, site: tuple[str, Path]) -> None:
    address, root = site
    before = {statement.id for statement in holding(root)}
    items = [f"images/sea_{k:03d}.png" for k in range(2, 72, 3)][:18]
    shell = [sys.executable, "-m", "mediarank", "label", "add", "--name", "at once", "--new", "--yes"]
    environment = {**os.environ, "MEDIARANK_AUTHOR": "ada"}
    typed = subprocess.Popen(
        [*shell, *items[:6]], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    contexts = [browser.new_context(base_url=address) for _ in range(2)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.set_default_timeout(60_000)
    for one, other in zip(items[6:12], items[12:18], strict=True):  # in turns, each page as it was loaded before
        for page, item in zip(pages, (one, other), strict=True):
            page.goto(f"/item?item={item}")
        for page in pages:
            page.keyboard.press("l")
            page.keyboard.type("at once")
            page.get_by_label("a new name").check()
            page.get_by_role("button", name="Add").click()
        for page in pages:
            page.wait_for_selector("text=by ada")
    printed, _ = typed.communicate(timeout=120)
    assert typed.returncode == 0, printed
    read = Journal(label_folder(root)).read()
    assert read.damaged == ()
    fresh = [s for s in active(read.statements) if s.id not in before]
    assert sorted(s.item for s in fresh) == sorted(items)
    assert {s.origin for s in fresh} == {"cli", "explorer"}
    pages[0].goto("/?concept=at%20once")
    assert f"{len(items)} of 72" in pages[0].locator("h1").inner_text(), "pages know what was typed"
    for context in contexts:
        context.close()


def test_scrolling_through_a_long_list_keeps_the_page_small_and_nothing_moves(browser: Any, tmp_path: Path) -> None:
    benchmark.make(tmp_path, items=2000, concepts=2, models=False)
    with listening(tmp_path) as address:
        context = browser.new_context(base_url=address, viewport={"width": 1300, "height": 800})
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto("/")
        height = page.evaluate("document.documentElement.scrollHeight")
        tracks = page.evaluate("getComputedStyle(document.querySelector('.grid')).gridTemplateColumns")
        columns = len(tracks.split())
        most, windows = 0, page.locator(".window")
        for k in range(windows.count()):
            windows.nth(k).scroll_into_view_if_needed()
            windows.nth(k).locator(".tile").first.wait_for()
            assert windows.nth(k).locator(".tile").count() % columns == 0 or k == windows.count() - 1, "whole rows"
            most = max(most, page.locator(".tile").count())
        assert page.locator(".tile").last.get_attribute("data-item") == "i001999"
        assert most < 1000
        assert page.evaluate("document.documentElement.scrollHeight") == height
        page.set_viewport_size({"width": 700, "height": 800})
        page.locator(".window").last.scroll_into_view_if_needed()
        page.locator(".tile[data-item=i001999]").wait_for()
        context.close()
