"""Lines and statements: what is written is read back, what is damaged is noticed, what is undone is gone."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.teaching.statements import Statement, active, decode, encode, in_order, latest, time_after
from mediarank.types import DataError

BOAT = Statement("c0.0", "2026-01-01T00:00:00.000001Z", "ada", "concept", "a.jpg", "f" * 64, "boat", True, "cli")
FIELDS = {name: getattr(BOAT, name) for name in Statement.__slots__}
text = st.text(max_size=30)
statements = st.builds(
    Statement,
    id=st.text(st.characters(codec="utf-8", exclude_characters="\n."), min_size=1, max_size=8),
    time=st.sampled_from([f"2026-01-01T00:00:00.{k:06d}Z" for k in range(5)]),
    author=text,
    kind=st.sampled_from(["concept", "keyword", "class", "event"]),
    item=text,
    sha256=text,
    name=text,
    value=st.sampled_from([True, False, None]),
    origin=st.sampled_from(["cli", "explorer", "import"]),
)


@settings(deadline=None)
@given(statements)
def test_a_line_gives_the_statement_back(statement: Statement) -> None:
    line = encode(statement)
    assert line.count(b"\n") == 1
    assert decode(line.rstrip(b"\n")) == statement


@settings(deadline=None)
@given(statements, st.data())
def test_any_changed_byte_is_noticed(statement: Statement, data: st.DataObject) -> None:
    line = encode(statement).rstrip(b"\n")
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place] and byte not in b"\r"))
    with pytest.raises(DataError):
        decode(line[:place] + bytes([other]) + line[place + 1 :])


@settings(deadline=None)
@given(statements, st.data())
def test_half_a_line_is_no_statement(statement: Statement, data: st.DataObject) -> None:
    line = encode(statement).rstrip(b"\n")
    with pytest.raises(DataError):
        decode(line[: data.draw(st.integers(0, len(line) - 1))])


def test_a_valid_checksum_over_something_else_is_no_statement() -> None:
    for value in (
        [1],
        {"id": "x"},
        {**FIELDS, "kind": "opinion"},
        {**FIELDS, "value": 3},
        {**FIELDS, "item": 1},
    ):
        content = json.dumps(value).encode()
        with pytest.raises(DataError):
            decode(b"%08x %s" % (zlib.crc32(content), content))


@pytest.mark.parametrize(("kind", "value"), [("concept", ">"), ("concept", 1), ("pair", True), ("pair", "<")])
def test_values_fit_their_kind(kind: str, value: object) -> None:
    with pytest.raises(DataError, match="value"):
        replace(BOAT, kind=kind, value=value)


def undo(target: str, second: int) -> Statement:
    return Statement(
        f"u{second}.0", f"2026-01-01T00:00:{second:02d}.000000Z", "ada", "undo", "", "", target, None, "cli"
    )


def test_an_undo_takes_back_and_can_be_taken_back() -> None:
    assert active([BOAT]) == [BOAT]
    assert active([BOAT, undo("c0.0", 1)]) == []
    assert active([BOAT, undo("c0", 1)]) == [], "a whole call by the first part of its ids"
    assert active([undo("c0.0", 1), BOAT]) == [], "whatever the order of the lines"
    assert active([BOAT, undo("c0.0", 1), undo("u1.0", 2)]) == [BOAT]
    assert active([BOAT, undo("other.0", 1)]) == [BOAT]


def test_later_wins_and_two_items_do_not_meet() -> None:
    no = replace(BOAT, id="c1.0", time="2026-01-01T00:00:01.000000Z", value=False)
    elsewhere = replace(BOAT, id="c2.0", item="b.jpg")
    assert latest([no, elsewhere, BOAT]) == [no, elsewhere] or set(latest([no, elsewhere, BOAT])) == {no, elsewhere}
    assert set(latest([no, undo("c1.0", 2), elsewhere, BOAT])) == {BOAT, elsewhere}, (
        "undone, the earlier one holds again"
    )


def test_a_pair_is_the_same_in_both_orders() -> None:
    one = replace(BOAT, kind="pair", value=">", other="b.jpg")
    turned = replace(one, item="b.jpg", other="a.jpg")
    assert one.subject == turned.subject


@settings(deadline=None)
@given(st.lists(statements, max_size=8))
def test_order_does_not_depend_on_how_lines_were_merged(many: list[Statement]) -> None:
    unique = list({s.id: s for s in many}.values())
    assert in_order([*unique, *unique]) == in_order(unique[::-1])


def test_times_rise_even_if_the_clock_does_not() -> None:
    assert time_after("2999-01-01T00:00:00.999999Z") == "2999-01-01T00:00:01.000000Z"
    assert time_after() > "2026"
