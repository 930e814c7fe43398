"""Effective labels: statements over the source's, the later wins, both sides stay visible."""

from __future__ import annotations

from random import Random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_statements import made_labels, made_manifest, said

from mediarank.labels import Labels
from mediarank.teaching.journal import Damaged, Read
from mediarank.teaching.merging import merge, merge_read
from mediarank.teaching.statements import Statement

ITEMS = ("a.jpg", "b.jpg", "c.jpg")
MANIFEST = made_manifest([*ITEMS, "d.mp4", "e.jpg"], bad=["e.jpg"])
LABELS = made_labels(
    concepts=[("a.jpg", "boat", True), ("b.jpg", "boat", False)],
    keywords=[("a.jpg", "sea"), ("b.jpg", "sky")],
    classes=[("a.jpg", "coast"), ("b.jpg", "coast")],
    pairs=[("open", "a.jpg", "b.jpg", ">")],
)


def rows(labels: Labels, name: str) -> set[tuple[object, ...]]:
    return set(labels[name].itertuples(index=False, name=None))


def test_nothing_said_changes_nothing() -> None:
    merged = merge(LABELS, MANIFEST, [])
    for name, table in LABELS.tables.items():
        pd.testing.assert_frame_equal(merged.labels[name], table)
    assert merged.said.empty
    assert merged.refused.empty


def test_each_kind_changes_its_table() -> None:
    merged = merge(
        LABELS,
        MANIFEST,
        [
            said(1, "a.jpg", "boat", False),
            said(2, "c.jpg", "boat", True),
            said(3, "a.jpg", "sea", False, "keyword"),
            said(4, "a.jpg", "sun", True, "keyword"),
            said(5, "b.jpg", "forest", True, "class"),
            said(6, "a.jpg", "coast", False, "class"),
            said(7, "d.mp4", "landing", True, "event"),
            said(8, "b.jpg", "open", ">", "pair", other="a.jpg", other_sha256="sha-a.jpg"),
        ],
    )
    assert rows(merged.labels, "concepts") == {
        ("a.jpg", "boat", False),
        ("b.jpg", "boat", False),
        ("c.jpg", "boat", True),
    }
    assert rows(merged.labels, "keywords") == {("b.jpg", "sky"), ("a.jpg", "sun")}
    assert rows(merged.labels, "classes") == {("b.jpg", "forest")}
    assert rows(merged.labels, "events") == {("d.mp4", "landing", True)}
    assert rows(merged.labels, "pairs") == {("open", "b.jpg", "a.jpg", ">")}
    told = merged.said.set_index("item", append=True)[["value", "source", "effect"]].to_numpy().tolist()
    assert told == [
        ["no", "yes", "changes"],
        ["yes", "", "adds"],
        ["no", "yes", "removes"],
        ["yes", "", "adds"],
        ["yes", "coast", "changes"],
        ["no", "coast", "removes"],
        ["yes", "", "adds"],
        [">", "<", "changes"],
    ]


def test_the_later_wins() -> None:
    merged = merge(LABELS, MANIFEST, [said(2, "c.jpg", "boat", False), said(1, "c.jpg", "boat", True)])
    assert ("c.jpg", "boat", False) in rows(merged.labels, "concepts")
    assert len(merged.said) == 1


def test_removed_says_nothing_any_more() -> None:
    merged = merge(LABELS, MANIFEST, [said(1, "a.jpg", "boat", None)])
    assert rows(merged.labels, "concepts") == {("b.jpg", "boat", False)}


def test_a_class_that_is_denied_does_not_take_another_one_away() -> None:
    spoken = [said(1, "a.jpg", "forest", True, "class"), said(2, "a.jpg", "coast", False, "class")]
    assert ("a.jpg", "forest") in rows(merge(LABELS, MANIFEST, spoken).labels, "classes")


def test_a_renamed_file_keeps_what_was_said_and_a_changed_one_does_not() -> None:
    renamed = made_manifest({"new.jpg": "sha-c.jpg"})
    assert rows(merge(made_labels(), renamed, [said(1, "c.jpg", "boat", True)]).labels, "concepts") == {
        ("new.jpg", "boat", True)
    }
    changed = made_manifest({"c.jpg": "another"})
    merged = merge(made_labels(), changed, [said(1, "c.jpg", "boat", True)])
    assert merged.labels["concepts"].empty
    assert "changed" in merged.refused["reason"].item()


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        (said(1, "gone.jpg", "boat", True), "not in the collection"),
        (said(1, "e.jpg", "boat", True), "quarantined"),
        (said(1, "a.jpg", "open", ">", "pair", other="a.jpg", other_sha256="sha-a.jpg"), "itself"),
    ],
)
def test_what_can_not_be_used_is_reported(statement: Statement, word: str) -> None:
    merged = merge(LABELS, MANIFEST, [statement])
    assert rows(merged.labels, "concepts") == rows(LABELS, "concepts")
    assert word in merged.refused["reason"].item()


def test_damaged_lines_are_among_what_was_refused() -> None:
    merged = merge_read(LABELS, MANIFEST, Read((), (Damaged("journal/ada.jsonl, line 3", "the checksum"),)))
    assert merged.refused["source"].tolist() == ["journal/ada.jsonl, line 3"]


@pytest.mark.parametrize("table", ["keywords", "classes"])
def test_a_first_concept_adds_to_what_stood_for_concepts(table: str) -> None:
    labels = made_labels(**{table: [("a.jpg", "sea"), ("b.jpg", "sky")]})
    merged = merge(labels, MANIFEST, [said(1, "c.jpg", "boat", True)]).labels
    assert set(merged.shown) == {("sea", "a.jpg"), ("sky", "b.jpg"), ("boat", "c.jpg")}


spoken = st.lists(
    st.builds(
        said,
        number=st.integers(0, 59),
        item=st.sampled_from(ITEMS),
        name=st.sampled_from(["boat", "car"]),
        value=st.sampled_from([True, False, None]),
    ),
    max_size=12,
    unique_by=lambda statement: statement.id,
)


@settings(deadline=None)
@given(spoken, st.randoms())
def test_the_order_of_lines_does_not_matter(statements: list[Statement], random: Random) -> None:
    shuffled = [*statements, *statements]
    random.shuffle(shuffled)
    one, other = merge(LABELS, MANIFEST, statements), merge(LABELS, MANIFEST, shuffled)
    pd.testing.assert_frame_equal(one.labels["concepts"], other.labels["concepts"])
    pd.testing.assert_frame_equal(one.said, other.said)


@settings(deadline=None)
@given(spoken)
def test_against_an_oracle_that_goes_through_the_statements(statements: list[Statement]) -> None:
    expected = {("a.jpg", "boat"): True, ("b.jpg", "boat"): False}
    for statement in sorted(statements, key=lambda s: s.time):
        key = (statement.item, statement.name)
        expected.pop(key, None)
        if statement.value is not None:
            expected[key] = statement.value
    merged = merge(LABELS, MANIFEST, statements).labels
    assert rows(merged, "concepts") == {(*key, value) for key, value in expected.items()}
