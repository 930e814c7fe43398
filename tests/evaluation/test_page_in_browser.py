"""The report's script, in a browser: tables sort and filter, pictures enlarge, clips play or show their frames."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from mediarank.evaluation.blocks import Column, Gallery, Row, Strip, Table, Tile
from mediarank.evaluation.folded import Folded
from mediarank.evaluation.report import Report, Section, render

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def jpeg(width: int, height: int) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((height, width, 3), 128, np.uint8))[1])


def report() -> str:
    rows = [[f"name {k}", f"{value:.2f}"] for k, value in enumerate((0.5, 0.9, 0.1, 0.7, 0.3, 0.2, 0.4, 0.6, 0.8))]
    table = Table("Names", [Column("name"), Column("value", numeric=True)], rows)
    tiles = [Tile(jpeg(8, 6), item, item=item) for item in ("images/a b.jpg", "clips/c.mp4")]
    gallery = Gallery("Pictures", [Row("row", tiles)])
    strip = Strip(jpeg(24, 6), 3, 8, 6)
    sections = [Section("Results", [table, Folded("More", [gallery])])]
    return render(Report("r", [], sections, strip=lambda item: strip if item.endswith(".mp4") else None))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    found = os.environ.get("MEDIARANK_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip("No Chromium is installed; .ci/install_chromium.sh installs one, or MEDIARANK_CHROMIUM names it.")
    from playwright.sync_api import sync_playwright

    (tmp_path / "report").mkdir()
    (tmp_path / "report/report.html").write_text(report(), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page()
        opened.set_default_timeout(60_000)
        opened.goto((tmp_path / "report/report.html").as_uri())
        yield opened
        browser.close()


def test_tables_sort_and_filter_and_pictures_enlarge(page: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    names = page.locator("tbody th")
    page.get_by_role("button", name="value").click()
    expect(names.first).to_have_text("name 1")
    page.get_by_role("button", name="value").click()
    expect(names.first).to_have_text("name 2")
    page.get_by_role("searchbox").fill("name 7")
    expect(page.locator("tbody tr:visible")).to_have_count(1)

    page.locator("details.part > summary").click()
    picture, clip = page.locator(".picture").all()
    picture.click()
    shown = page.locator("dialog img")
    expect(shown).to_have_attribute("src", page.locator(".tile img").first.get_attribute("src"))  # no original is there
    page.keyboard.press("Escape")
    original = tmp_path / "raw/media/images/a b.jpg"
    original.parent.mkdir(parents=True)
    original.write_bytes(jpeg(40, 30))
    picture.click()
    expect(shown).to_have_js_property("naturalWidth", 40)
    page.keyboard.press("ArrowRight")
    expect(page.locator("dialog .book")).to_be_visible()  # the clip is not there: its frames are
    expect(page.locator("dialog p")).to_contain_text("3 frames")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("dialog")).to_be_hidden()
    clip.focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog .book")).to_be_visible()
