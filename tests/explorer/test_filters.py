"""Filters combine, count, and survive the way through an address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import fitted_project
import numpy as np
import pytest

from mediarank.explorer.filters import Choice, select
from mediarank.explorer.snapshot import Snapshot
from mediarank.types import DataError


@pytest.fixture
def snapshot(explored: Path) -> Snapshot:
    return Snapshot.open(explored, lambda: fitted_project.COPYING)


def shown(snapshot: Snapshot, *pairs: tuple[str, str]) -> list[str]:
    return snapshot.items["item"].iloc[select(snapshot, Choice.of(pairs)).rows].tolist()


def test_values_of_one_facet_are_joined_by_or_facets_by_and_and_a_minus_by_not(snapshot: Snapshot) -> None:
    everything = shown(snapshot)
    fire, sea = (shown(snapshot, ("class", name)) for name in ("fire", "sea"))
    assert sorted(fire + sea) == shown(snapshot, ("class", "fire"), ("class", "sea"))
    assert shown(snapshot, ("class", "fire"), ("keyword", "cold")) == []
    assert shown(snapshot, ("class", "-fire")) == [item for item in everything if item not in set(fire)]
    assert shown(snapshot, ("concept", "heat")) == fire
    assert shown(snapshot, ("text", "FIRE_00")) == [item for item in everything if "fire_00" in item]


def test_counts_are_those_of_what_is_shown(snapshot: Snapshot) -> None:
    counts = select(snapshot, Choice.of([("class", "fire")])).counts
    assert counts["class"] == {"fire": 24}
    assert counts["keyword"] == {"fire": 24, "warm": 24}
    assert counts["kind"] == {"image": 24}


def test_an_address_brings_the_state_back(snapshot: Snapshot) -> None:
    choice = Choice.of(
        [("class", "fire"), ("class", "a&b=c"), ("keyword", "-cold"), ("text", "x y"), ("order", "largest")]
    )
    assert Choice.of(parse_qsl(urlsplit(choice.address()).query)) == choice
    assert choice.turned("class", "fire").turned("class", "fire").pairs() != choice.turned("class", "fire").pairs()
    assert "cold" not in choice.turned("keyword", "cold").refused.get("keyword", ())
    assert choice.refusing("class", "fire").refused["class"] == ("fire",)


def test_orders(snapshot: Snapshot) -> None:
    strength = np.linspace(1, 0, len(snapshot.items))
    strength[:2] = np.nan
    rows = select(snapshot, Choice.of([("order", "attribute:warm")]), lambda what, name: strength).rows.tolist()
    assert rows == [*range(2, len(strength)), 0, 1], "strongest first, the unknown last"
    with pytest.raises(DataError, match="order"):
        Choice.of([("order", "magic")])
    with pytest.raises(DataError, match="attribute"):
        select(snapshot, Choice.of([("order", "attribute:warm")]))


def test_dates_sort_newest_or_oldest_first_and_what_has_none_comes_last(snapshot: Snapshot) -> None:
    items = snapshot.items["item"].tolist()[:4]
    taken = dict(zip(items, ("2021-05-01T10:00", "", "2019-01-01T10:00", "2021-05-01T10:00"), strict=True))
    dated = replace(snapshot, items=snapshot.items.assign(taken=[taken.get(i, "") for i in snapshot.items["item"]]))
    newest, oldest = (shown(dated, ("order", order)) for order in ("newest", "oldest"))
    assert newest[:3] == [items[0], items[3], items[2]]
    assert oldest[:3] == [items[2], items[0], items[3]]
    assert newest[3:] == oldest[3:] == [item for item in shown(dated) if not taken.get(item)]
