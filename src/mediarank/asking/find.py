"""Which items show a concept, and in which clips does an event happen, by the models that the stages wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import numpy as np

from mediarank import store
from mediarank.evaluation.blocks import Gallery, Row, Tile
from mediarank.evaluation.report import Report, Section, render
from mediarank.labels import Labels
from mediarank.ops.models.packing import Served, open_fitted
from mediarank.systems.events.report import shown_events
from mediarank.types import DataError, FeatureMatrix

FINDERS: Final = ("concepts", "events")
"""The systems that are asked, in this order."""


@dataclass(frozen=True)
class Find:
    """An item that may show what was asked for; `labelled` if a label already says that it does."""

    item: str
    score: float
    labelled: bool


@dataclass(frozen=True)
class Finds:
    """What one method of a system found for a name, best first."""

    name: str
    system: str
    method: str
    best: Sequence[Find]


def find(data: Path, name: str, count: int, fresh: bool = False, systems: Sequence[str] = FINDERS) -> Finds:
    """The items of the collection that show the concept or event best.

    fresh : only those without a label of it
    systems : to ask, in this order; the first that knows the name answers
    """
    known: set[str] = set()
    silent: list[str] = []
    for system in systems:
        reason = _why_not(data / "systems" / system / "model.json")
        if reason:
            silent.append(f"{system} has no model: {reason}")
            continue
        served, matrices = open_fitted(data, system)
        if name in served.names:
            labelled = _labelled(store.read_labels(data / "manifest/labels"), system, name)
            return Finds(name, system, served.method, _best(served, matrices, name, labelled, count, fresh))
        known |= set(served.names)
    close = get_close_matches(name, sorted(known), n=5, cutoff=0.5) or sorted(known)[:20]
    hint = f"; there are {len(known)} names, such as {', '.join(close)}" if known else ""
    raise DataError(" ".join([f"No concept or event is called {name!r}{hint}.", *silent]))


def finds_page(finds: Finds, thumbnail: Callable[[str], bytes | None]) -> str:
    """The finds as HTML, best first; those that a label confirms are marked."""
    tiles = [
        Tile(thumbnail(found.item), f"{found.score:.3f}", rank, "good" if found.labelled else "", title=found.item)
        for rank, found in enumerate(finds.best, start=1)
    ]
    row = Row(finds.name, tiles, f"{len(tiles)} best, by {finds.method} of {finds.system}")
    return render(Report(f"Find {finds.name}", (), [Section("Results", [Gallery("Best first", [row])])]))


def _best(
    served: Served,
    matrices: dict[str, FeatureMatrix],
    name: str,
    labelled: frozenset[str],
    count: int,
    fresh: bool,
) -> list[Find]:
    items = [item for item in served.able(matrices) if not (fresh and item in labelled)]
    if not items:
        return []
    scores = served.rank(matrices, items)[:, served.names.index(name)]
    order = np.argsort(-scores, kind="stable")[:count].tolist()
    return [Find(items[k], float(scores[k]), items[k] in labelled) for k in order]


def _why_not(facts: Path) -> str | None:
    """Why there is no model, if there is none."""
    if not facts.exists():
        return "list it under systems in params.yaml and run dvc repro."
    skipped: str | None = store.read_json(facts).get("skipped")
    return skipped


def _labelled(labels: Labels, system: str, name: str) -> frozenset[str]:
    if system == "events":
        return shown_events(labels).get(name, frozenset())
    return frozenset(item for concept, item in labels.shown if concept == name)
