"""From what people say to statements: items found, names checked, nothing half-written."""

from __future__ import annotations

import pandas as pd
import pytest
from made_statements import made_labels, made_manifest, said

from mediarank.teaching.labelling import (
    Items,
    Vocabulary,
    exported,
    imported_rows,
    label_rows,
    pair_rows,
    same_word,
)
from mediarank.types import DataError

ITEMS = Items(made_manifest(["coast/a.jpg", "coast/b.jpg", "c.jpg", "d.mp4", "e.jpg"], bad=["e.jpg"]))
KNOWN = Vocabulary.of(
    made_labels(
        concepts=[("c.jpg", "boat", True)],
        events=[("d.mp4", "landing", True)],
        classes=[("c.jpg", "coast")],
        keywords=[("c.jpg", "sea"), ("c.jpg", "boat")],
        orderings=[("open", "coast", 1.0)],
    )
)


def test_items_are_found_by_any_clear_name() -> None:
    rows = label_rows(ITEMS, KNOWN, "boat", yes=["coast/a.jpg", "b.jpg", "data/raw/media/c.jpg"], no=["d.mp4"])
    assert [(row["item"], row["value"]) for row in rows] == [
        ("coast/a.jpg", True),
        ("coast/b.jpg", True),
        ("c.jpg", True),
        ("d.mp4", False),
    ]
    assert rows[0]["sha256"] == "sha-coast/a.jpg"
    assert {row["kind"] for row in rows} == {"concept"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("boat", "concept"), ("landing", "event"), ("coast", "class"), ("sea", "keyword"), ("dog", "concept")],
)
def test_a_name_is_what_it_is_known_as(name: str, kind: str) -> None:
    assert KNOWN.kind(name) == kind


def test_a_new_name_is_what_the_collection_uses() -> None:
    assert Vocabulary.of(made_labels(keywords=[("c.jpg", "sea")])).kind("dog") == "keyword"
    assert Vocabulary.of(made_labels(classes=[("c.jpg", "sea")])).kind("dog") == "concept"
    assert Vocabulary.of(made_labels()).kind("dog") == "concept"
    assert KNOWN.kind("boat", "keyword") == "keyword"


@pytest.mark.parametrize("name", ["Boat", "boats", "BOATS", "landings", "Coasts"])
def test_a_name_like_another_one_is_asked_about(name: str) -> None:
    with pytest.raises(DataError, match="--new"):
        label_rows(ITEMS, KNOWN, name, yes=["c.jpg"])
    assert label_rows(ITEMS, KNOWN, name, yes=["c.jpg"], new=True)


def test_same_word_knows_plurals_and_case() -> None:
    assert same_word("sea_gull", "Sea-Gulls")
    assert same_word("bus", "buses")
    assert not same_word("as", "a")
    assert not same_word("car", "care")


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"yes": ["who.jpg"]}, "not in the collection"),
        ({"yes": ["c.jpg", "e.jpg"]}, "quarantined"),
        ({"yes": ["c.jpg"], "no": ["data/raw/media/c.jpg"]}, "Say one"),
        ({}, "at least one"),
    ],
)
def test_what_can_not_be_written_is_refused_whole(given: dict[str, list[str]], word: str) -> None:
    with pytest.raises(DataError, match=word):
        label_rows(ITEMS, KNOWN, "boat", **given)


@pytest.mark.parametrize("name", ["", " boat", "a\nb"])
def test_names_are_checked(name: str) -> None:
    with pytest.raises(DataError, match="name"):
        label_rows(ITEMS, KNOWN, name, yes=["c.jpg"])


def test_events_happen_in_clips_and_attributes_are_compared() -> None:
    with pytest.raises(DataError, match="clips"):
        label_rows(ITEMS, KNOWN, "landing", yes=["c.jpg"])
    with pytest.raises(DataError, match="--more"):
        label_rows(ITEMS, KNOWN, "open", yes=["c.jpg"])
    (row,) = pair_rows(ITEMS, KNOWN, "open", "a.jpg", "c.jpg")
    assert (row["item"], row["other"], row["value"]) == ("coast/a.jpg", "c.jpg", ">")
    with pytest.raises(DataError, match="itself"):
        pair_rows(ITEMS, KNOWN, "open", "c.jpg", "c.jpg")


def test_what_is_exported_can_be_imported() -> None:
    spoken = [
        said(1, "c.jpg", "boat", True),
        said(2, "coast/a.jpg", "boat", None),
        said(3, "d.mp4", "landing", False, "event"),
        said(4, "c.jpg", "open", ">", "pair", other="coast/a.jpg"),
    ]
    rows = imported_rows(ITEMS, KNOWN, exported(spoken))
    assert [(r["kind"], r["item"], r["name"], r["value"], r.get("other", "")) for r in rows] == [
        (s.kind, s.item, s.name, s.value, s.other) for s in spoken
    ]


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        (["item", "keyword"], ["c.jpg", "sea"], ("keyword", "sea", True)),
        (["item", "concept", "relevant"], ["c.jpg", "boat", "0"], ("concept", "boat", False)),
        (["clip", "event", "relevant"], ["d.mp4", "landing", "1"], ("event", "landing", True)),
        (["item", "class"], ["c.jpg", "coast"], ("class", "coast", True)),
        (["attribute", "first", "second", "relation"], ["open", "c.jpg", "a.jpg", "="], ("pair", "open", "=")),
    ],
)
def test_label_tables_can_be_imported(columns: list[str], row: list[str], expected: tuple[object, ...]) -> None:
    (made,) = imported_rows(ITEMS, KNOWN, pd.DataFrame([row, row], columns=columns))
    assert (made["kind"], made["name"], made["value"]) == expected


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([["c.jpg", "boat", "1"], ["c.jpg", "boat", "0"]], "two ways"),
        ([["c.jpg", "boat", "1"], ["c.jpg", "boat", "maybe"]], "Line 3"),
        ([["c.jpg", "boat", "1"], ["x.jpg", "boat", "1"]], "Line 3"),
    ],
)
def test_one_wrong_line_refuses_the_table(rows: list[list[str]], word: str) -> None:
    with pytest.raises(DataError, match=word):
        imported_rows(ITEMS, KNOWN, pd.DataFrame(rows, columns=["item", "concept", "relevant"]))


def test_an_unknown_table_says_what_is_expected() -> None:
    with pytest.raises(DataError, match="item,keyword"):
        imported_rows(ITEMS, KNOWN, pd.DataFrame({"who": ["c.jpg"]}))
