"""A report in a few numbers, `data/report/summary.json`, and a picture of them; `version_changes` compares two."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from mediarank.evaluation.answers import Answer
from mediarank.evaluation.figures import Bar, bar_figure
from mediarank.evaluation.version_changes import Summary, fingerprint

MOST_PRINTS: Final = 20_000
"""Items above which only their number is kept."""


def summary_of(
    usable: pd.DataFrame, labelled: Mapping[str, int], answers: Mapping[str, Answer], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The summary of one version.

    usable : the rows of the manifest that could be decoded
    labelled : name -> items that are labelled with it
    """
    items = {str(kind): int(count) for kind, count in usable["kind"].value_counts().sort_index().items()}
    prints = None
    if len(usable) <= MOST_PRINTS:
        pairs = zip(usable["item_id"], usable["sha256"], strict=True)
        prints = {fingerprint(item): str(digest)[:8] for item, digest in pairs}
    return {
        "collection": hashlib.sha256("".join(sorted(usable["sha256"].tolist())).encode()).hexdigest()[:12],
        "newest": max(usable["taken_at"].tolist(), default=""),
        "items": items,
        "prints": prints,
        "labels": dict(labelled),
        "systems": {
            name: {
                "served": answer.served,
                "measure": answer.measure.title,
                "mean": round(answer.measure.mean, 4),
                "low": round(answer.measure.low, 4),
                "high": round(answer.measure.high, 4),
                "names": {q.name: round(q.share, 3) for q in answer.names if q.share == q.share},
            }
            for name, answer in answers.items()
        },
        "settings": flat(settings),
    }


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """
    >>> flat({"a": {"b": [1, 2]}, "c": "x"})
    {'a.b': '[1, 2]', 'c': 'x'}
    """
    found: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(value, default=str)
    return found


def results_figure(summary: Summary) -> str:
    """The measure of each system with its interval, as an SVG that can be shown alone."""
    bars = [
        Bar(f"{name}: {found['measure']}", found["mean"], found["low"], found["high"])
        for name, found in summary["systems"].items()
    ]
    return bar_figure(bars or [Bar("nothing measured", 0.0, 0.0, 0.0)], "of the method that answers, on test items")
