"""Splits: nothing leaks, shares are kept, rare labels are everywhere if they can be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.stages.splits import Shares, SplitsConfig, assign_roles, usable_items
from mediarank.types import MANIFEST_COLUMNS, ROLES, DataError, Labels, Manifest

EVEN = Shares(0.25, 0.25, 0.25, 0.25)


def collection(count: int, groups: list[str] | None = None, hashes: list[str] | None = None) -> pd.DataFrame:
    ids = [f"i{k:04d}" for k in range(count)]
    return pd.DataFrame({"item_id": ids, "kind": "image", "group_id": groups or ids, "phash": hashes or [""] * count})


def concept(name: str, items: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"item": items, "concept": name, "relevant": True})


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 120), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_every_item_has_a_role_and_no_group_straddles(count: int, groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = collection(count, groups=[f"g{g}" for g in rng.integers(0, groups, count)])
    roles, _ = assign_roles(items, Labels({}), SplitsConfig(image=EVEN, seed=seed))
    assert list(roles.table["item_id"]) == list(items["item_id"])
    assert (roles.table.groupby("group_id")["role"].nunique() == 1).all()


def test_shares_are_kept() -> None:
    shares = Shares(0.4, 0.2, 0.1, 0.3)
    roles, _ = assign_roles(collection(1000), Labels({}), SplitsConfig(image=shares))
    counts = roles.table["role"].value_counts()
    assert [counts[r] for r in ROLES] == [400, 200, 100, 300]
    assert roles.table["fold"].value_counts().tolist() == [200] * 5


def test_a_role_without_a_share_gets_nothing() -> None:
    labels = Labels({"concepts": concept("boat", [f"i{k:04d}" for k in range(7)])})
    roles, _ = assign_roles(collection(50), labels, SplitsConfig(image=Shares(0.5, 0.2, 0.0, 0.3)))
    assert not roles.items("valid")


def test_a_rare_concept_is_in_every_role() -> None:
    rng = np.random.default_rng(5)
    rare = [f"i{k:04d}" for k in rng.choice(1000, 8, replace=False)]
    labels = Labels({"concepts": concept("boat", rare)})
    roles, warnings = assign_roles(collection(1000), labels, SplitsConfig(image=EVEN))
    where = roles.table.set_index("item_id")["role"]
    assert sorted(where[rare].value_counts()) == [2, 2, 2, 2]
    assert not warnings


def test_what_is_too_rare_is_said() -> None:
    labels = Labels({"concepts": concept("boat", ["i0000", "i0001"])})
    _, warnings = assign_roles(collection(100), labels, SplitsConfig(image=EVEN))
    assert len(warnings) == 1
    assert "concept boat has no image in" in warnings[0]


def test_near_duplicates_share_a_role() -> None:
    hashes = [f"{k * 0x9E3779B97F4A7C15 % 2**64:016x}" for k in range(1, 301)]
    twins = [f"{int(h, 16) ^ 1:016x}" for h in hashes]
    roles, _ = assign_roles(collection(600, hashes=hashes + twins), Labels({}), SplitsConfig(image=EVEN))
    role = roles.table["role"].to_numpy()
    assert (role[:300] == role[300:]).all()


def test_the_seed_decides_and_the_order_of_rows_does_not() -> None:
    items = collection(100)
    first, _ = assign_roles(items, Labels({}), SplitsConfig(seed=1))
    shuffled, _ = assign_roles(items.sample(frac=1, random_state=3), Labels({}), SplitsConfig(seed=1))
    other, _ = assign_roles(items, Labels({}), SplitsConfig(seed=2))
    assert first.table.equals(shuffled.table)
    assert not first.table.equals(other.table)


def test_the_sources_own_split_is_kept() -> None:
    prescribed = pd.DataFrame({"item": ["i0000", "i0001", "i0002"], "role": ["base", "test", "base"]})
    config = SplitsConfig(protocol="source")
    roles, _ = assign_roles(collection(3), Labels({"splits": prescribed}), config)
    assert roles.items("base") == ["i0000", "i0002"]
    with pytest.raises(DataError, match="says nothing of 1 items, such as i0003"):
        assign_roles(collection(4), Labels({"splits": prescribed}), config)
    with pytest.raises(DataError, match="prescribes no split"):
        assign_roles(collection(4), Labels({}), config)
    with pytest.raises(DataError, match="'train'"):
        assign_roles(collection(3), Labels({"splits": prescribed.assign(role="train")}), config)


def test_a_group_that_the_source_tears_apart_goes_to_the_test_side() -> None:
    prescribed = pd.DataFrame({"item": ["i0000", "i0001"], "role": ["base", "test"]})
    roles, _ = assign_roles(
        collection(2, groups=["g", "g"]), Labels({"splits": prescribed}), SplitsConfig(protocol="source")
    )
    assert roles.items("test") == ["i0000", "i0001"]


def test_an_empty_collection_is_an_error() -> None:
    with pytest.raises(DataError, match="no usable item"):
        assign_roles(collection(0), Labels({}), SplitsConfig())


def test_shares_must_sum_to_one() -> None:
    with pytest.raises(ValueError, match=r"sum to 1, not 1\.1"):
        Shares(0.5, 0.3, 0.1, 0.2)


def test_only_items_with_a_working_copy_are_split() -> None:
    rows = [
        dict.fromkeys(MANIFEST_COLUMNS, "") | {"item_id": i, "kind": kind, "status": "ok", "group_id": i}
        for i, kind in (("a", "image"), ("b", "image"), ("c", "sound"))
    ]
    frames = pd.DataFrame({"item_id": ["a"], "phash": ["ff"]})
    sounds = pd.DataFrame({"item_id": ["c"]})
    items = usable_items(Manifest(pd.DataFrame(rows)), frames, sounds)
    assert items[["item_id", "phash"]].to_numpy().tolist() == [["a", "ff"], ["c", ""]]
