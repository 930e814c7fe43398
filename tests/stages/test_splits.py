"""Splits: nothing leaks, shares are kept, rare labels are in every role if possible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.labels import Labels
from mediarank.stages.splits import Shares, SplitsConfig, assign_roles, usable_items
from mediarank.types import MANIFEST_COLUMNS, ROLES, DataError, Manifest

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


def test_what_is_too_rare_is_reported() -> None:
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
    config = SplitsConfig(protocol="source", image=Shares(1, 0, 0, 0))
    roles, _ = assign_roles(collection(3), Labels({"splits": prescribed}), config)
    assert roles.items("base") == ["i0000", "i0002"]
    assert roles.items("test") == ["i0001"]
    with pytest.raises(DataError, match="1 items, such as i0003"):
        assign_roles(collection(4), Labels({"splits": prescribed}), config)
    with pytest.raises(DataError, match="no split"):
        assign_roles(collection(4), Labels({}), config)
    with pytest.raises(DataError, match="'train'"):
        assign_roles(collection(3), Labels({"splits": prescribed.assign(role="train")}), config)


def test_a_group_that_the_source_tears_apart_goes_to_the_test_side_and_that_is_reported() -> None:
    prescribed = pd.DataFrame({"item": ["i0000", "i0001"], "role": ["base", "test"]})
    roles, warnings = assign_roles(
        collection(2, groups=["g", "g"]), Labels({"splits": prescribed}), SplitsConfig(protocol="source")
    )
    assert roles.items("test") == ["i0000", "i0001"]
    assert "1 items, such as i0000, got another role than" in warnings[0]


def test_a_training_part_that_the_source_does_not_divide_is_dealt_by_the_shares() -> None:
    ids = list(collection(100)["item_id"])
    undivided = pd.DataFrame({"item": ids, "role": ["base"] * 70 + ["test"] * 30})
    roles, _ = assign_roles(
        collection(100),
        Labels({"splits": undivided}),
        SplitsConfig(protocol="source", image=Shares(0.4, 0.2, 0.1, 0.3)),
    )
    assert roles.items("test") == ids[70:]
    assert [len(roles.items(role)) for role in ROLES] == [40, 20, 10, 30]
    divided = undivided.assign(role=["base"] * 60 + ["rank"] * 10 + ["test"] * 30)
    roles, _ = assign_roles(collection(100), Labels({"splits": divided}), SplitsConfig(protocol="source"))
    assert [len(roles.items(role)) for role in ROLES] == [60, 10, 0, 30]


def prescribed_folds(count: int, names: str) -> Labels:
    ids = list(collection(count)["item_id"])
    return Labels(
        {"splits": pd.DataFrame({"item": ids, "role": "", "fold": [names[k % len(names)] for k in range(count)]})}
    )


def test_the_sources_own_folds_are_kept_and_take_turns_as_test() -> None:
    labels = prescribed_folds(50, "12345")
    for turn in range(5):
        roles, warnings = assign_roles(collection(50), labels, SplitsConfig(protocol="folds", test_fold=turn))
        assert roles.table["fold"].tolist() == [k % 5 for k in range(50)]
        role = roles.table["role"].to_numpy()
        assert set(role[turn::5]) == {"test"}
        assert set(role[(turn + 1) % 5 :: 5]) == {"valid"}
        assert [int((role == r).sum()) for r in ROLES] == [21, 9, 10, 10]  # 0.5 to 0.2 of thirty
        assert not warnings


def test_folds_are_dealt_where_the_source_names_none() -> None:
    roles, _ = assign_roles(collection(50), Labels({}), SplitsConfig(protocol="folds", test_fold=4))
    assert set(roles.table.loc[roles.table["role"] == "test", "fold"]) == {4}
    assert set(roles.table.loc[roles.table["role"] == "valid", "fold"]) == {0}


def test_a_group_is_in_the_fold_that_most_of_it_is_in() -> None:
    labels = prescribed_folds(6, "122333")
    roles, warnings = assign_roles(collection(6, groups=["g", "g", "g", "h", "i", "j"]), labels, SplitsConfig())
    assert roles.table["fold"].tolist() == [1, 1, 1, 2, 2, 2]
    assert "got another fold" in warnings[0]


@pytest.mark.parametrize(
    ("names", "fold", "message"),
    [("123", 3, "test_fold is 3.*0 to 2"), ("12", 0, "3 folds.*found 2")],
)
def test_folds_that_can_not_take_turns(names: str, fold: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        assign_roles(collection(12), prescribed_folds(12, names), SplitsConfig(protocol="folds", test_fold=fold))


def test_a_group_of_mixed_kinds_stays_together() -> None:
    items = collection(40, groups=[f"g{k // 2}" for k in range(40)]).assign(kind=["clip", "image"] * 20)
    roles, _ = assign_roles(items, Labels({}), SplitsConfig(image=EVEN, clip=EVEN))
    assert (roles.table.groupby("group_id")["role"].nunique() == 1).all()


def test_more_clips_change_nothing_for_images() -> None:
    images = collection(30)
    clips = collection(7).assign(kind="clip", item_id=[f"c{k}" for k in range(7)], group_id=[f"c{k}" for k in range(7)])
    alone, _ = assign_roles(images, Labels({}), SplitsConfig())
    together, _ = assign_roles(pd.concat([images, clips]), Labels({}), SplitsConfig())
    assert together.table[together.table["item_id"].str.startswith("i")].reset_index(drop=True).equals(alone.table)


@pytest.mark.parametrize("count", [4, 5, 6, 7])
def test_a_concept_with_a_positive_for_each_role_is_in_each(count: int) -> None:
    labels = Labels({"concepts": concept("boat", [f"i{k:04d}" for k in range(count)])})
    for seed in range(5):
        roles, warnings = assign_roles(
            collection(200), labels, SplitsConfig(image=Shares(0.4, 0.2, 0.1, 0.3), seed=seed)
        )
        where = roles.table.set_index("item_id")["role"]
        assert set(where[labels["concepts"]["item"]]) == set(ROLES)
        assert not warnings


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
