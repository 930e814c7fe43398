"""Leakage between roles is found independently of the checks in `Roles`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pytest

from mediarank.labels import Labels
from mediarank.ops.checks import Outcome, SplitCheckConfig, check_splits
from mediarank.ops.checks.judge import judge
from mediarank.ops.checks.splits import split_suites
from mediarank.types import Manifest, Roles

IDS = [f"i{k:02d}.jpg" for k in range(16)]


@dataclass
class Split:
    items: pd.DataFrame
    roles: pd.DataFrame
    labels: dict[str, pd.DataFrame]
    config: SplitCheckConfig = field(default_factory=SplitCheckConfig)
    lost: tuple[str, ...] = ()

    def arguments(self) -> tuple[Any, ...]:
        # Past the contract's own checks: these expectations are the second line of defence.
        roles = object.__new__(Roles)
        object.__setattr__(roles, "table", self.roles)
        return roles, Manifest(self.items), Labels(self.labels), self.config, self.lost


def good() -> Split:
    """Sixteen images in eight groups of two, two groups a role and as many a fold."""
    items = pd.DataFrame(
        {
            "item_id": IDS,
            "path": IDS,
            "kind": "image",
            "width": 8,
            "height": 8,
            "seconds": 0.0,
            "fps": 0.0,
            "has_sound": False,
            "sha256": [f"{k:064x}" for k in range(16)],
            "group_id": [f"g{k // 2}" for k in range(16)],
            "status": "ok",
            "reason": "",
        }
    )
    role = [("base", "rank", "valid", "test")[k // 2 % 4] for k in range(16)]
    roles = pd.DataFrame(
        {"item_id": IDS, "group_id": items["group_id"], "role": role, "fold": [k // 4 for k in range(16)]}
    )
    labels = {
        "classes": pd.DataFrame({"item": IDS, "class": ["a", "b"] * 8}),
        "concepts": pd.DataFrame({"item": IDS[:8], "concept": "boat", "relevant": True}),
        "splits": pd.DataFrame({"item": [IDS[6], IDS[0]], "role": ["test", "base"]}),
    }
    return Split(items, roles, labels)


def outcome_of(rule: str, split: Split) -> Outcome:
    chosen = [s for s in split_suites(*split.arguments()) if rule in {r.name for r in s.rules}]
    return next(o for o in judge("check", chosen, {}).outcomes if o.name == rule)


def no_role(s: Split) -> None:
    s.roles = s.roles.iloc[1:]


def stranger(s: Split) -> None:
    s.roles.loc[0, "item_id"] = "other.jpg"


def straddle(column: str, value: object) -> Callable[[Split], None]:
    def damage(s: Split) -> None:
        s.roles.loc[0, column] = value

    return damage


def own_groups(column: str, value: object) -> Callable[[Split], None]:
    """The splits know nothing of the manifest's groups."""

    def damage(s: Split) -> None:
        s.roles["group_id"] = IDS
        s.roles.loc[0, column] = value

    return damage


def copies(s: Split) -> None:
    """The same bytes under two names, 0 in base and 2 in rank, in two groups and two folds."""
    s.items.loc[[0, 4], "sha256"] = "f" * 64
    s.roles.loc[4, "role"] = "test"
    s.roles.loc[5, "role"] = "test"


def no_test(s: Split) -> None:
    s.roles["role"] = s.roles["role"].replace("test", "valid")


def ignore_source(s: Split) -> None:
    s.roles.loc[[6, 7], "role"] = "base"


def rare(s: Split) -> None:
    s.labels["concepts"]["relevant"] = [True] * 6 + [False] * 2


BROKEN: list[tuple[str, Callable[[Split], None], int, str]] = [
    ("usable_items_have_roles", no_role, 1, "item_id=i00.jpg, role=(missing), where=manifest only"),
    ("groups_do_not_straddle_roles", straddle("role", "test"), 1, "group_id=g0"),
    ("groups_do_not_straddle_folds", straddle("fold", 3), 1, "group_id=g0"),
    ("manifest_groups_do_not_straddle_roles", own_groups("role", "test"), 1, "manifest_group=g0"),
    ("manifest_groups_do_not_straddle_folds", own_groups("fold", 3), 1, "manifest_group=g0"),
    ("identical_files_do_not_straddle_roles", copies, 1, "items=2, roles=2, folds=2, such_as=i00.jpg"),
    ("identical_files_do_not_straddle_folds", copies, 1, "such_as=i00.jpg"),
    ("roles_have_items", no_test, 1, "role=test, items=0"),
    ("prescribed_test_items_are_not_fitted_to", ignore_source, 1, "item_id=i06.jpg, role=base"),
    ("labels_are_in_every_role", rare, 1, "name=boat, role=test, positives=0"),
]
WARNINGS = {"prescribed_test_items_are_not_fitted_to", "labels_are_in_every_role"}


def test_good_splits_pass_everything_and_every_rule_is_shown_to_fail() -> None:
    result = check_splits(*good().arguments())
    assert {o.status for o in result.outcomes} == {"passed"}, result.explain()
    assert sorted(o.name for o in result.outcomes) == sorted(rule for rule, *_ in BROKEN)


@pytest.mark.parametrize(("rule", "damage", "failing", "shown"), BROKEN, ids=[b[0] for b in BROKEN])
def test_broken(rule: str, damage: Callable[[Split], None], failing: int, shown: str) -> None:
    split = good()
    damage(split)
    outcome = outcome_of(rule, split)
    assert outcome.status == ("warned" if rule in WARNINGS else "failed")
    assert outcome.failing_rows == failing
    assert shown in outcome.explain()


def test_an_unknown_item_and_the_item_it_replaced_are_both_reported() -> None:
    split = good()
    stranger(split)
    assert outcome_of("usable_items_have_roles", split).failing_rows == 2


def test_items_lost_after_the_manifest_need_no_role() -> None:
    split = good()
    no_role(split)
    split.lost = (IDS[0],)
    assert outcome_of("usable_items_have_roles", split).status == "passed"


def test_roles_that_are_not_required_may_be_empty() -> None:
    split = good()
    split.roles["role"] = split.roles["role"].replace("rank", "base")
    assert outcome_of("roles_have_items", split).status == "failed"
    split.config = replace(split.config, required_roles=("base", "test"))
    assert outcome_of("roles_have_items", split).status == "passed"


def test_a_role_that_no_clip_has_is_no_lack_of_events() -> None:
    split = good()
    clips = [IDS[0], IDS[2], IDS[6]]  # base, rank and test
    split.items.loc[split.items["item_id"].isin(clips), ["kind", "seconds"]] = ["clip", 2.0]
    split.labels["events"] = pd.DataFrame({"clip": clips, "event": "landing", "relevant": True})
    assert outcome_of("labels_are_in_every_role", split).status == "passed"
    split.labels["events"].loc[2, "relevant"] = False
    (missing,) = outcome_of("labels_are_in_every_role", split).first_rows
    assert (missing["name"], missing["role"]) == ("landing", "test")
