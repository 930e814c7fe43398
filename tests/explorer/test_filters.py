"""Filters combine, count, and survive the way through an address."""

from __future__ import annotations

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
