"""The collection against its last version: a small summary of each, and the changes between them.

The summary is part of the check's result. A later version is compared with the summary it is given, so a check stays a
pure function of its inputs: whoever keeps the summary decides which version is "the last".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from mediarank.labels import Labels
from mediarank.ops.checks.rules import Rule, Severity, Suite, at_least, at_most
from mediarank.types import DataError, Manifest

S = TypeVar("S")

VALUE_COLUMN: Final = {"classes": "class", "keywords": "keyword", "concepts": "concept", "events": "event"}
"""The label tables whose values can be counted, and the column of the value."""

IF_MEANT: Final = "If the change is intended, copy this check's result.json over the one in baseline/ and commit it."
NO_BASELINE: Final = "there is no earlier version to compare with"


@dataclass(frozen=True)
class ManifestSummary:
    """What is compared between versions.

    items : usable items
    kinds : how many of them are images, clips, sounds
    labels : for each label table, how many items have each value
    resolutions : for images and clips, how many have a longer side of up to 64, 128, 256 … pixels
    """

    items: int
    kinds: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    resolutions: Mapping[str, Mapping[str, int]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_result(cls, result: Mapping[str, Any]) -> ManifestSummary | None:
        """The summary in an earlier result of the check; `{}` means that there is none."""
        return read_summary(cls, result)


def read_summary(kind: type[S], result: Mapping[str, Any]) -> S | None:
    """The `kind` of summary in an earlier result."""
    if not result:
        return None
    try:
        return TypeAdapter(kind).validate_python(result["summary"])
    except (KeyError, ValidationError) as error:
        raise DataError(
            f"The version to compare with has no summary that can be read ({type(error).__name__}); "
            "put {} there to compare with nothing, or the result.json of the last good run."
        ) from error


def summary_of(manifest: Manifest, labels: Labels) -> ManifestSummary:
    usable = manifest.usable
    counted = {}
    for name, column in VALUE_COLUMN.items():
        table = labels[name]
        said = table[table["relevant"].astype(bool)] if "relevant" in table else table
        counted[name] = _counts(said[column])
    pictures = usable[usable["kind"].isin(("image", "clip"))]
    longer = pictures[["width", "height"]].max(axis=1)
    buckets = longer[longer > 0].map(lambda side: 1 << max(6, (int(side) - 1).bit_length()))
    resolutions = {
        str(kind): _counts(rows) for kind, rows in buckets.astype(str).groupby(pictures["kind"].loc[buckets.index])
    }
    return ManifestSummary(len(usable), _counts(usable["kind"]), counted, resolutions)


def drift_suites(
    now: ManifestSummary,
    before: ManifestSummary | None,
    *,
    max_lost_share: float,
    max_label_drift: float,
    max_resolution_drift: float,
    on_vanished: Severity,
    on_drift: Severity,
) -> list[Suite]:
    skipped = NO_BASELINE if before is None else ""
    before = before or now
    lost = 1 - now.items / before.items if before.items else 0.0
    items = pd.DataFrame({"before": [before.items], "now": [now.items], "lost_share": [max(0.0, lost)]})
    return [
        Suite(
            "number of items",
            items,
            ("before", "now", "lost_share"),
            (
                Rule(
                    "items_are_still_there",
                    at_most("lost_share", max_lost_share),
                    f"At most {max_lost_share:.0%} of the last version's number of usable items is missing.",
                    f"See whether a folder is missing or not mounted, and what the quarantine table says. {IF_MEANT}",
                    on_vanished,
                ),
            ),
            skipped,
        ),
        _vanished("kinds and labels", now, before, ("kinds", "classes", "concepts", "events"), on_vanished, skipped),
        # A rare keyword disappears with its only item: no reason to stop.
        _vanished("keywords", now, before, ("keywords",), "warning", skipped),
        Suite(
            "label distributions",
            _moved({t: (_rates(before, t), _rates(now, t)) for t in VALUE_COLUMN if before.labels.get(t)}),
            ("what", "drift", "most_changed"),
            (
                Rule(
                    "labels_have_not_drifted",
                    at_most("drift", max_label_drift),
                    "Labels are given about as often as in the last version "
                    f"(Bray-Curtis dissimilarity of their rates at most {max_label_drift:g}).",
                    f"Look at the labels of the value that changed most: were rows lost or renamed? {IF_MEANT}",
                    on_drift,
                ),
            ),
            skipped,
        ),
        Suite(
            "resolutions",
            _moved(
                {
                    kind: (_shares(before.resolutions[kind]), _shares(now.resolutions.get(kind, {})))
                    for kind in sorted(before.resolutions)
                }
            ),
            ("what", "drift", "most_changed"),
            (
                Rule(
                    "resolutions_have_not_changed",
                    at_most("drift", max_resolution_drift),
                    "Images and clips are about as large as in the last version "
                    f"(dissimilarity of the sizes' shares at most {max_resolution_drift:g}).",
                    f"See whether thumbnails or re-encoded files have replaced originals. {IF_MEANT}",
                    on_drift,
                ),
            ),
            skipped,
        ),
    ]


def _vanished(
    subject: str,
    now: ManifestSummary,
    before: ManifestSummary,
    tables: tuple[str, ...],
    severity: Severity,
    skipped: str,
) -> Suite:
    rows = [
        (table, value, count, _values(now, table).get(value, 0))
        for table in tables
        for value, count in sorted(_values(before, table).items())
        if count
    ]
    name = "keywords_have_not_vanished" if tables == ("keywords",) else "labels_have_not_vanished"
    return Suite(
        f"vanished {subject}",
        pd.DataFrame(rows, columns=["what", "value", "before", "now"]),
        ("what", "value", "before", "now"),
        (
            Rule(
                name,
                at_least("now", 1),
                f"All {subject} of the last version still occur.",
                f"See whether they were renamed, or their folder or label file is missing. {IF_MEANT}",
                severity,
            ),
        ),
        skipped,
    )


def _moved(compared: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]) -> pd.DataFrame:
    rows = []
    for what, (old, new) in compared.items():
        change = {v: new.get(v, 0.0) - old.get(v, 0.0) for v in sorted(old.keys() | new.keys())}
        total = sum(old.values()) + sum(new.values())
        # Bray-Curtis dissimilarity: 0 if nothing changed, 1 if nothing is shared.
        drift = sum(map(abs, change.values())) / total if total else 0.0
        most = max(change, key=lambda v: abs(change[v])) if change else ""
        said = f"{most}: {old.get(most, 0.0):.1%} before, {new.get(most, 0.0):.1%} now" if change else ""
        rows.append((what, round(drift, 6), said))
    return pd.DataFrame(rows, columns=["what", "drift", "most_changed"])


def _values(summary: ManifestSummary, table: str) -> Mapping[str, int]:
    return summary.kinds if table == "kinds" else summary.labels.get(table, {})


def _rates(summary: ManifestSummary, table: str) -> dict[str, float]:
    return {value: count / max(summary.items, 1) for value, count in summary.labels.get(table, {}).items()}


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {value: count / total for value, count in counts.items()}


def _counts(column: pd.Series) -> dict[str, int]:
    return {str(value): int(count) for value, count in column.value_counts().sort_index().items()}
