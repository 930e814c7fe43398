"""Check for leakage: is anything that is tested also used for fitting, under another name or as a copy?

`Roles` refuses groups that straddle roles; these expectations check again independently, by the manifest's groups and
by content, and check what each role has to learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from mediarank.labels import LABEL_ITEMS, Labels
from mediarank.ops.checks.baseline_drift import VALUE_COLUMN
from mediarank.ops.checks.judge import judge
from mediarank.ops.checks.result import CheckResult
from mediarank.ops.checks.rules import Rule, Suite, at_least, at_most, one_of
from mediarank.types import ROLES, Manifest, Roles, are_among

RoleName = Literal["base", "rank", "valid", "test"]
SPLIT_AGAIN = "Delete data/splits and run dvc repro; if it happens again, please report it as a bug."


@dataclass(frozen=True)
class SplitCheckConfig:
    """required_roles : those that must have at least min_items_per_role items"""

    required_roles: tuple[RoleName, ...] = ("base", "rank", "test")
    min_items_per_role: Annotated[int, Field(ge=1)] = 1
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def check_splits(
    roles: Roles, manifest: Manifest, labels: Labels, config: SplitCheckConfig, lost: Collection[str] = ()
) -> CheckResult:
    """Judge the splits; `lost` are items that the manifest calls usable but that a later stage quarantined."""
    return judge("check_splits", split_suites(roles, manifest, labels, config, lost), {})


def split_suites(
    roles: Roles, manifest: Manifest, labels: Labels, config: SplitCheckConfig, lost: Collection[str] = ()
) -> list[Suite]:
    """All expectations of splits, as `check_splits` judges them."""
    assigned = roles.table[["item_id", "group_id", "role", "fold"]]
    usable = manifest.usable[["item_id", "group_id", "sha256"]].rename(columns={"group_id": "manifest_group"})
    usable = usable[~usable["item_id"].isin(lost)]
    joined = assigned.merge(usable, on="item_id", how="left")
    return [
        _membership(assigned, usable),
        _straddling("groups of the splits", "groups", joined, "group_id"),
        _straddling("groups of the manifest", "manifest_groups", joined.dropna(), "manifest_group"),
        _straddling("identical files", "identical_files", joined.dropna(), "sha256"),
        _role_sizes(assigned, config),
        _prescribed(assigned, labels),
        _positives(assigned.merge(manifest.usable[["item_id", "kind"]], on="item_id"), labels),
    ]


def _membership(assigned: pd.DataFrame, usable: pd.DataFrame) -> Suite:
    every = assigned[["item_id", "role"]].merge(usable[["item_id"]], on="item_id", how="outer", indicator="where")
    every["where"] = every["where"].map({"both": "both", "left_only": "splits only", "right_only": "manifest only"})
    return Suite(
        "items of manifest and splits",
        every.astype({"where": str}),
        ("item_id", "role", "where"),
        (
            Rule(
                "usable_items_have_roles",
                one_of("where", ("both",)),
                "Every usable item has a role, and no other item has one.",
                "Run dvc repro from the splits stage: the splits are of another version of the collection.",
            ),
        ),
    )


def _straddling(subject: str, word: str, joined: pd.DataFrame, key: str) -> Suite:
    grouped = joined.groupby(key)
    table = pd.DataFrame(
        {
            "items": grouped.size(),
            "roles": grouped["role"].nunique(),
            "folds": grouped["fold"].nunique(),
            "such_as": grouped["item_id"].min(),
        }
    )
    return Suite(
        subject,
        table.reset_index(names=key),
        (key, "items", "roles", "folds", "such_as"),
        (
            Rule(
                f"{word}_do_not_straddle_roles",
                at_most("roles", 1),
                f"{subject.capitalize()} are within one role: nothing that is tested has been fitted to.",
                SPLIT_AGAIN,
            ),
            Rule(
                f"{word}_do_not_straddle_folds",
                at_most("folds", 1),
                f"{subject.capitalize()} are within one fold.",
                SPLIT_AGAIN,
            ),
        ),
    )


def _role_sizes(assigned: pd.DataFrame, config: SplitCheckConfig) -> Suite:
    counts = assigned["role"].value_counts()
    rows = [(role, int(counts.get(role, 0))) for role in config.required_roles]
    return Suite(
        "roles",
        pd.DataFrame(rows, columns=["role", "items"]),
        ("role", "items"),
        (
            Rule(
                "roles_have_items",
                at_least("items", config.min_items_per_role),
                f"The roles {', '.join(config.required_roles)} have at least {config.min_items_per_role} item(s) each.",
                "Add items, or change the shares under splits in params.yaml.",
            ),
        ),
    )


def _prescribed(assigned: pd.DataFrame, labels: Labels) -> Suite:
    prescribed = labels["splits"][["item", "role"]].astype(str).set_axis(["item_id", "prescribed"], axis=1)
    tested = assigned.merge(prescribed[prescribed["prescribed"] == "test"], on="item_id")
    return Suite(
        "items that the source prescribes for testing",
        tested,
        ("item_id", "role", "prescribed"),
        (
            Rule(
                "prescribed_test_items_are_not_fitted_to",
                one_of("role", ("test",)),
                "The source's test items are test items here too, so that figures compare with published ones.",
                "Set splits.protocol to source in params.yaml, or don't compare the figures with published ones.",
                "warning",
            ),
        ),
        "" if len(tested) else "the source prescribes no test items",
    )


def _positives(assigned: pd.DataFrame, labels: Labels) -> Suite:
    """Positives of every class, concept and event in every role that items of its kind have."""
    role_of = dict(zip(assigned["item_id"].tolist(), assigned["role"].tolist(), strict=True))
    rows = []
    for name in ("classes", "concepts", "events"):
        table = labels[name]
        said = table[table["relevant"].astype(bool)] if "relevant" in table else table
        # A protocol may give no clip the role `valid`; then no events are missing there.
        kinds = assigned.loc[are_among(assigned["item_id"], set(table[LABEL_ITEMS[name][0]].tolist())), "kind"].unique()
        given = set(assigned.loc[assigned["kind"].isin(kinds), "role"].unique())
        present = [role for role in ROLES if role in given]
        values = said[VALUE_COLUMN[name]].tolist()
        roles = [role_of.get(item) for item in said[LABEL_ITEMS[name][0]].tolist()]
        counts = Counter(zip(values, roles, strict=True))
        rows += [(name, str(value), role, counts[value, role]) for value in sorted(set(values)) for role in present]
    return Suite(
        "positives in each role",
        pd.DataFrame(rows, columns=["table", "name", "role", "positives"]),
        ("table", "name", "role", "positives"),
        (
            Rule(
                "labels_are_in_every_role",
                at_least("positives", 1),
                "Every class, concept and event has a positive in every role.",
                "Label more items of these, or take their figures with caution: they are too rare to be everywhere.",
                "warning",
            ),
        ),
        "" if rows else "there are no classes, concepts or events",
    )
