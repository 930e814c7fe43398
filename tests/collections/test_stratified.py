"""Dealing groups out: shares are kept, rare labels reach every part, the result depends only on the seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.collections.stratified import GroupTable, deal


def table(groups: list[int], marks: dict[str, list[str]]) -> GroupTable:
    return GroupTable.of([f"i{k}" for k in range(len(groups))], np.array(groups, dtype=np.intp), marks)


def drawn(groups: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(groups)


def test_a_table_counts_items_and_labels_by_group() -> None:
    made = table([5, 9, 5], {"i0": ["sea"], "i1": ["sky", "sea"], "i2": ["sea"]})
    assert made.number.tolist() == [0, 1, 0]
    assert made.weights.tolist() == [2, 1]
    assert made.labels.tolist() == [[2, 0], [1, 1]]  # sea, sky


def test_shares_are_of_items_not_of_groups() -> None:
    parts = deal(table([0] * 50 + list(range(1, 51)), {}), np.array([0.5, 0.5]), drawn(51))
    assert (parts[1:] == 1 - parts[0]).sum() == 50


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(0, 8), st.integers(0, 10_000))
def test_a_label_reaches_as_many_parts_as_it_can(parts: int, bearers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(parts, 0.3)) + 1e-3
    dealt = deal(
        table(list(range(40)), {f"i{k}": ["rare"] for k in range(bearers)}), shares / shares.sum(), rng.permutation(40)
    )
    assert len(set(dealt[:bearers].tolist())) == min(parts, bearers)


@pytest.mark.parametrize("labelled", [0, 6])
def test_a_part_without_a_share_gets_nothing(labelled: int) -> None:
    made = table(list(range(20)), {f"i{k}": ["sea"] for k in range(labelled)})
    assert 1 not in deal(made, np.array([0.6, 0.0, 0.4]), drawn(20))


def test_the_seed_decides() -> None:
    made = table(list(range(30)), {f"i{k}": ["sea"] for k in range(0, 30, 3)})
    first, again, other = (deal(made, np.full(3, 1 / 3), drawn(30, seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_a_few_more_groups_move_only_few() -> None:
    """Each group keeps its place, and only the borders between parts shift."""
    rng = np.random.default_rng(0)
    marks = {f"i{k}": [str(word) for word in rng.choice(["sea", "sky", "car", "cat"], 2)] for k in range(1010)}
    places = rng.permutation(1010)
    shares = np.array([0.4, 0.2, 0.1, 0.3])
    before = deal(table(list(range(1000)), marks), shares, np.argsort(places[:1000]))
    after = deal(table(list(range(1010)), marks), shares, np.argsort(places))
    assert (before == after[:1000]).mean() > 0.96
    assert np.bincount(after) / 1010 == pytest.approx(shares, abs=0.01)


def slow_deal(table: GroupTable, shares: np.ndarray, order: np.ndarray) -> list[int]:
    """The same, word by word as the module describes it."""
    parts, labels = range(len(shares)), range(table.labels.shape[1])
    wanted = [[shares[p] * table.labels[:, k].sum() for k in labels] for p in parts]
    room = [shares[p] * table.weights.sum() for p in parts]
    without = {(p, k) for p in parts for k in labels if shares[p] > 0}
    order = sorted(order.tolist(), key=lambda group: -table.weights[group])
    part: dict[int, int] = {}

    def put(group: int, want: list[float], amount: float, allowed: list[int]) -> None:
        fitting = [p for p in allowed if want[p] >= amount / 2 - 1e-9]
        chosen = fitting[0] if fitting else max(allowed, key=lambda p: (round(want[p], 9), room[p]))
        part[group] = chosen
        room[chosen] -= table.weights[group]
        for k in labels:
            wanted[chosen][k] -= table.labels[group, k]
            if table.labels[group, k]:
                without.discard((chosen, k))

    done: set[int] = set()
    while True:
        left = {k: sum(table.labels[g, k] for g in order if g not in part) for k in labels if k not in done}
        left = {k: count for k, count in left.items() if count}
        if not left:
            break
        rarest = min(left, key=lambda k: (left[k], k))
        bearers = [group for group in order if table.labels[group, rarest] and group not in part]
        for turn, group in enumerate(bearers):
            lacking = [p for p in parts if (p, rarest) in without]
            allowed = lacking if len(bearers) - turn <= len(lacking) else [p for p in parts if shares[p] > 0]
            put(group, [wanted[p][rarest] for p in parts], table.labels[group, rarest], allowed)
        done.add(rarest)
    for group in order:
        if group not in part:
            put(group, room, table.weights[group], [p for p in parts if shares[p] > 0])
    return [part[group] for group in range(len(order))]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 30), st.integers(0, 4), st.integers(0, 10_000))
def test_compiled_and_slow_deal_alike(parts: int, items: int, words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 3, parts) + (np.arange(parts) == 0)
    groups = np.unique(rng.integers(0, items, items), return_inverse=True)[1]
    marks = {f"i{k}": [f"w{w}" for w in range(words) if rng.random() < 0.3] for k in range(items)}
    made, order = table(groups.tolist(), marks), rng.permutation(groups.max() + 1)
    assert deal(made, shares / shares.sum(), order).tolist() == slow_deal(made, shares / shares.sum(), order)
