"""The report's first sections: what is in the collection, what was refused, and what the data checks said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from mediarank.evaluation.blocks import Block, Cell, Column, Table, Text
from mediarank.evaluation.report import Fact, Section
from mediarank.types import KINDS, ROLES, Manifest, require_columns

OPEN_ROWS: Final = 12
"""A table with more rows than this is folded."""

NO_CLASS: Final = "(none)"


@dataclass(frozen=True)
class Check:
    """One expectation of a data check and its result."""

    stage: str
    expectation: str
    passed: bool
    detail: str = ""


def collection_facts(manifest: Manifest, classes: Mapping[str, str], quarantine: pd.DataFrame) -> list[Fact]:
    """The numbers at the top of the page: items by kind, classes, and files refused when listed or decoded."""
    refused = set(quarantine.loc[quarantine["what"] == "file", "item_id"])
    kinds = manifest.table.loc[~manifest.table["item_id"].isin(refused), "kind"].value_counts()
    facts = [Fact(f"{kind}s", f"{int(kinds[kind]):,}") for kind in KINDS if kind in kinds]
    if classes:
        facts.append(Fact("classes", f"{len(set(classes.values())):,}"))
    facts.append(Fact("files quarantined", f"{len(refused):,}", f"of {len(manifest.table):,}"))
    return facts


def collection_section(
    items: pd.DataFrame, classes: Mapping[str, str], quarantine: pd.DataFrame, roles: Mapping[str, str] | None = None
) -> Section:
    """Items by class, kind and role, and the quarantine.

    items : item_id, kind of the usable items
    classes, roles : of items that have one
    quarantine : what, item_id, source, reason
    """
    require_columns(items, ("item_id", "kind"), "the table of items")
    require_columns(quarantine, ("what", "item_id", "source", "reason"), "the quarantine")
    blocks: list[Block] = [_items_by(items, classes, "class", sorted(set(classes.values())))]
    if roles:
        blocks.append(_items_by(items, roles, "role", [r for r in ROLES if r in set(roles.values())]))
    if len(quarantine):
        refused: list[list[Cell | str]] = [
            [str(cell) for cell in row]
            for row in quarantine[["item_id", "reason", "what", "source"]].itertuples(index=False)
        ]
        columns = [Column("item"), Column("reason"), Column("what"), Column("source")]
        note = "These could not be used, for the reason given. The run goes on without them."
        blocks.append(Table("Quarantine", columns, refused, note, folded=len(refused) > OPEN_ROWS))
    else:
        blocks.append(Text(["Every file could be decoded, and every label found its item."], "Quarantine"))
    return Section("Collection", blocks)


def checks_section(checks: Sequence[Check]) -> Section:
    """The results of the data checks, failed ones first."""
    failed = sum(not check.passed for check in checks)
    rows: list[list[Cell | str]] = [
        [
            check.expectation,
            check.stage,
            Cell("✓\N{NO-BREAK SPACE}passed", tone="good")
            if check.passed
            else Cell("✕\N{NO-BREAK SPACE}failed", strong=True, tone="bad"),
            check.detail,
        ]
        for check in sorted(checks, key=lambda check: check.passed)
    ]
    columns = [Column("expectation"), Column("stage"), Column("result"), Column("detail")]
    note = f"{len(checks) - failed} of {len(checks)} hold."
    return Section("Checks", [Table("Expectations", columns, rows, note, folded=not failed and len(rows) > OPEN_ROWS)])


def _items_by(items: pd.DataFrame, groups: Mapping[str, str], word: str, order: Sequence[str]) -> Table:
    """Numbers of items, one row per group and one column per kind."""
    group_of = items["item_id"].map(groups).fillna(NO_CLASS)
    counts = items.groupby([group_of, "kind"]).size().to_dict()
    present = set(items["kind"].unique())
    kinds = [kind for kind in KINDS if kind in present]
    named = [*order, *([NO_CLASS] if (group_of == NO_CLASS).any() else [])]
    rows = [[group, *(f"{counts.get((group, kind), 0):,}" for kind in kinds)] for group in named]
    columns = [Column(word), *(Column(f"{kind}s", numeric=True) for kind in kinds)]
    return Table(f"Items by {word}", columns, rows, folded=len(rows) > OPEN_ROWS, half=True)
