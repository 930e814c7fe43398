"""The names that can be asked for: classes, keywords, concepts, events and attributes, with their counts."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mediarank.labels import Labels

NAMED: Final = {
    "classes": "class",
    "keywords": "keyword",
    "concepts": "concept",
    "events": "event",
    "orderings": "attribute",
    "pairs": "attribute",
}
"""Label tables with names to ask for -> the column of the name."""


def label_names(labels: Labels) -> pd.DataFrame:
    """One row per name: kind, name, labels (for an attribute, how many orderings and pairs mention it)."""
    parts = []
    for table, column in NAMED.items():
        rows = labels[table]
        if "relevant" in rows:
            rows = rows[rows["relevant"].astype(bool)]
        counts = rows[column].astype(str).value_counts()
        parts.append(pd.DataFrame({"kind": column, "name": counts.index.astype(str), "labels": counts.to_numpy()}))
    whole = pd.concat(parts, ignore_index=True).groupby(["kind", "name"], as_index=False, sort=False)["labels"].sum()
    whole = whole.assign(kind=pd.Categorical(whole["kind"], list(dict.fromkeys(NAMED.values()))))
    whole = whole.sort_values(["kind", "labels", "name"], ascending=[True, False, True], ignore_index=True)
    return pd.DataFrame(whole.astype({"kind": str, "labels": int}))
