"""Checks of labels: they are about usable items, don't contradict each other, and can be learned from."""

from __future__ import annotations

import pandas as pd

from mediarank.labels import LABEL_ITEMS, LABEL_TABLES, OF_QUARANTINED, Labels
from mediarank.ops.checks.baseline_drift import VALUE_COLUMN
from mediarank.ops.checks.rules import Rule, Suite, at_least, distinct_at_least, matches, one_of, rows_at_least, unique
from mediarank.types import ROLES, Manifest


def label_suites(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    *,
    max_refused_label_share: float,
    min_classes: int,
    min_positives: int,
) -> list[Suite]:
    return [
        _references(manifest, labels),
        _refusals(labels, quarantine, max_refused_label_share),
        _classes(labels, min_classes),
        _class_sizes(labels),
        _concepts(manifest, labels, min_positives),
        _orderings(labels),
        _prescribed_roles(labels),
    ]


def _references(manifest: Manifest, labels: Labels) -> Suite:
    """Every row of every table as (table, item, value); an ordering may be about a class instead of an item."""
    known = set(manifest.usable["item_id"].tolist())
    parts = []
    for name, table in labels.tables.items():
        may_be = known | set(labels["classes"]["class"].unique()) if name == "orderings" else known
        parts += [
            pd.DataFrame(
                {
                    "table": name,
                    "item": table[item].astype(str),
                    "value": _values(name, table),
                    # pandas' isin would build an index of the items for each table.
                    "usable": [value in may_be for value in table[item].tolist()],
                }
            )
            for item in LABEL_ITEMS[name]
        ]
    return Suite(
        "labels",
        pd.concat(parts, ignore_index=True),
        ("table", "item", "value"),
        (
            Rule(
                "labels_are_about_usable_items",
                one_of("usable", [True]),
                "Every label is about a usable item (an ordering: an item or a class).",
                "Run dvc repro from the manifest stage: it moves labels of unknown and unusable items to quarantine.",
            ),
            Rule(
                "label_values_are_not_blank",
                matches("value", r"\S"),
                "Every class, keyword, concept, event, attribute and role has a name.",
                "Fill in or delete the blank values in the source's label files.",
            ),
            Rule(
                "labels_exist",
                rows_at_least(1),
                "There are labels.",
                "Search by example works without labels; the other systems need some (see docs/collections.md).",
                "warning",
            ),
        ),
    )


def _values(name: str, table: pd.DataFrame) -> pd.Series:
    """The value of each row, which must not be blank; a split prescribes a role, a fold, or both."""
    if name == "splits":
        return table["role"].astype(str).fillna("") + table["fold"].astype(str).fillna("")
    said = [column for column in LABEL_TABLES[name] if column not in LABEL_ITEMS[name]] or LABEL_ITEMS[name]
    return table[said[0]].astype(str).fillna("")


def _refusals(labels: Labels, quarantine: pd.DataFrame, max_share: float) -> Suite:
    # A label of a quarantined file is refused because of the file, which is already counted.
    own_fault = (quarantine["what"] == "label") & (quarantine["reason"] != OF_QUARANTINED)
    refused = quarantine.loc[own_fault, ["item_id", "source", "reason"]].assign(accepted=False)
    kept = pd.DataFrame({"accepted": [True] * sum(len(table) for table in labels.tables.values())})
    return Suite(
        "label rows of the source",
        # Refused rows first, then the kept ones, of which only the number matters.
        pd.concat([refused, kept], ignore_index=True).astype({"accepted": bool}),
        ("item_id", "source", "reason"),
        (
            Rule(
                "most_labels_are_accepted",
                one_of("accepted", [True], max_share),
                f"At most {max_share:.0%} of the label rows are in quarantine.",
                "See whether the items in the label files are written as their path below the media folder, with the "
                "extension; or raise check_manifest.max_refused_label_share.",
            ),
        ),
    )


def _classes(labels: Labels, min_classes: int) -> Suite:
    table = labels["classes"].astype(str)
    return Suite(
        "classes",
        table,
        ("item", "class"),
        (
            Rule(
                "items_have_one_class",
                unique("item"),
                "No item has two classes.",
                "Keep one class per item in classes.csv; labels that may occur together belong in keywords.csv.",
            ),
            Rule(
                "there_are_enough_classes",
                distinct_at_least("class", min_classes),
                f"There are at least {min_classes} classes.",
                "Put each class into its own folder, or add a classes.csv: with one class, everything is relevant.",
                "warning",
            ),
        ),
        "" if len(table) else "no item has a class",
    )


def _class_sizes(labels: Labels) -> Suite:
    counts = labels["classes"]["class"].astype(str).value_counts().sort_index()
    return Suite(
        "class sizes",
        pd.DataFrame({"class": counts.index.astype(str), "items": counts.to_numpy()}),
        ("class", "items"),
        (
            Rule(
                "classes_have_two_items",
                at_least("items", 2),
                "Every class has at least two items, so that one can be found by the other.",
                "Add items to these classes, or merge them with others.",
                "warning",
            ),
        ),
        "" if len(counts) else "no item has a class",
    )


def _concepts(manifest: Manifest, labels: Labels, min_positives: int) -> Suite:
    """Concepts and events with the number of items that show them; an item without a row does not."""
    usable = manifest.usable
    judged = {"concepts": len(usable), "events": int((usable["kind"] == "clip").sum())}
    rows = []
    for name, candidates in judged.items():
        table = labels[name]
        relevant = table["relevant"].astype(bool)
        for value, members in relevant.groupby(table[VALUE_COLUMN[name]]):
            shown = table.loc[members.index[members], LABEL_ITEMS[name][0]].nunique()
            rows.append((name, str(value), shown, max(0, candidates - shown)))
    return Suite(
        "concepts and events",
        pd.DataFrame(rows, columns=["table", "name", "positives", "negatives"]),
        ("table", "name", "positives", "negatives"),
        (
            Rule(
                "concepts_have_positives",
                at_least("positives", min_positives),
                f"Every concept and event is shown by at least {min_positives} usable item(s).",
                "Label more items as relevant, or delete the concept's rows; the quarantine table lists what was lost.",
            ),
            Rule(
                "concepts_have_negatives",
                at_least("negatives", 1),
                "No concept or event is shown by all items.",
                "Delete the concept's rows, or correct them: a concept that all items show can't be ranked.",
            ),
            Rule(
                "concepts_have_positives_for_every_role",
                at_least("positives", len(ROLES)),
                f"Every concept and event has a positive for each of the {len(ROLES)} roles.",
                "Label more items as relevant, or take this concept's figures with caution.",
                "warning",
            ),
        ),
        "" if rows else "there are no concepts or events",
    )


def _orderings(labels: Labels) -> Suite:
    table = labels["orderings"]
    strengths = table["strength"].groupby(table["attribute"]).nunique()
    return Suite(
        "attributes",
        pd.DataFrame({"attribute": strengths.index.astype(str), "strengths": strengths.to_numpy()}),
        ("attribute", "strengths"),
        (
            Rule(
                "attributes_have_two_strengths",
                at_least("strengths", 2),
                "Every attribute has at least two different strengths.",
                "Grade the attribute's targets differently, or delete its rows: there is nothing to order.",
                "warning",
            ),
        ),
        "" if len(table) else "there are no orderings",
    )


def _prescribed_roles(labels: Labels) -> Suite:
    table = labels["splits"].astype(str).fillna("")
    table = table[(table["role"] != "") | (table["fold"] == "")]  # a fold alone is enough
    return Suite(
        "prescribed roles",
        table,
        ("item", "role"),
        (
            Rule(
                "prescribed_roles_are_known",
                one_of("role", ROLES),
                f"A prescribed role is one of {', '.join(ROLES)}.",
                "Correct the role column of splits.csv.",
            ),
        ),
        "" if len(table) else "the source prescribes no roles",
    )
