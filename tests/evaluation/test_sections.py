"""Collection and checks as sections of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from mediarank.evaluation.report import Report, Section, render
from mediarank.evaluation.sections import Check, checks_section, collection_facts, collection_section
from mediarank.types import MANIFEST_COLUMNS, DataError, Manifest

Read = Callable[[str], Any]
CLASSES = {"a.jpg": "coast", "b.jpg": "coast", "c.mp4": "forest"}
QUARANTINE = pd.DataFrame(
    [("file", "z.jpg", "media", "truncated <b>"), ("label", "gone.jpg", "labels/classes.csv", "no such item")],
    columns=["what", "item_id", "source", "reason"],
)


@pytest.fixture
def manifest() -> Manifest:
    rows = [("a.jpg", "image"), ("b.jpg", "image"), ("c.mp4", "clip"), ("d.jpg", "image"), ("z.jpg", "image")]
    table = pd.DataFrame({c: [""] * len(rows) for c in MANIFEST_COLUMNS})
    table["item_id"], table["kind"] = zip(*rows, strict=True)
    table["status"] = ["ok"] * 4 + ["quarantined"]
    table["reason"] = [""] * 4 + ["truncated"]
    return Manifest(table)


def page_of(section: Section, read_page: Read) -> Any:
    return read_page(render(Report("r", [], [section])))


def test_facts_count_what_is_usable_and_what_is_not(manifest: Manifest) -> None:
    facts = {fact.label: (fact.value, fact.note) for fact in collection_facts(manifest, CLASSES, QUARANTINE)}
    assert facts == {
        "images": ("3", ""),
        "clips": ("1", ""),
        "classes": ("2", ""),
        "files quarantined": ("1", "of 5"),
    }


def test_items_are_counted_by_class_kind_and_role(manifest: Manifest) -> None:
    roles = {"a.jpg": "test", "b.jpg": "base", "c.mp4": "base", "d.jpg": "test"}
    section = collection_section(manifest.usable, CLASSES, QUARANTINE, roles)
    by_class, by_role, _ = section.blocks
    assert by_class.rows == [["coast", "2", "0"], ["forest", "0", "1"], ["(none)", "1", "0"]]
    assert by_role.rows == [["base", "1", "1"], ["test", "2", "0"]]  # in the order of ROLES, without empty ones


def test_the_quarantine_shows_every_reason(manifest: Manifest, read_page: Read) -> None:
    page = page_of(collection_section(manifest.usable, CLASSES, QUARANTINE), read_page)
    assert {"z.jpg", "truncated <b>", "gone.jpg", "no such item", "labels/classes.csv"} <= set(page.text)
    assert page.count("details") == 0
    many = pd.concat([QUARANTINE] * 20)
    assert page_of(collection_section(manifest.usable, CLASSES, many), read_page).count("details") == 1
    clean = page_of(collection_section(manifest.usable, CLASSES, QUARANTINE.iloc[:0]), read_page)
    assert "Every file could be decoded, and every label found its item." in clean.text


def test_tables_without_their_columns_are_refused(manifest: Manifest) -> None:
    with pytest.raises(DataError, match="quarantine lacks the column"):
        collection_section(manifest.usable, CLASSES, QUARANTINE.drop(columns="reason"))


def test_failed_checks_come_first(read_page: Read) -> None:
    checks = [
        Check("check_manifest", "ids are unique", True),
        Check("check_features", "finite", False, "3 rows: a, b, c"),
    ]
    page = page_of(checks_section(checks), read_page)
    text = "".join(page.text)
    assert text.index("✕\N{NO-BREAK SPACE}failed") < text.index("✓\N{NO-BREAK SPACE}passed")
    assert {"1 of 2 hold.", "3 rows: a, b, c", "check_features"} <= set(page.text)


def test_many_checks_are_folded_only_if_all_hold(read_page: Read) -> None:
    good = [Check("check_manifest", f"rule {k}", True) for k in range(20)]
    assert page_of(checks_section(good), read_page).count("details") == 1
    assert page_of(checks_section([*good, Check("s", "bad", False)]), read_page).count("details") == 0
