"""Which items show a concept, and in which clips an event happens, by the models that the stages wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mediarank.asking.items import match_name
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.blocks import Gallery, Row, Tile
from mediarank.evaluation.report import Report, Section, render
from mediarank.labels import Labels
from mediarank.types import DataError

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
    """What one method of a system found for a name, best first.

    evaluations, possible : base models evaluated on items, and how many there would be without skipping
    """

    name: str
    system: str
    method: str
    best: Sequence[Find]
    evaluations: int
    possible: int

    @property
    def work(self) -> str:
        """How many evaluations were made, of how many."""
        return f"{self.evaluations:,} of {self.possible:,} evaluations ({self.evaluations / max(self.possible, 1):.0%})"


def find(
    workspace: Workspace,
    name: str,
    count: int,
    fresh: bool = False,
    systems: Sequence[str] = FINDERS,
    method: str | None = None,
) -> Finds:
    """The items of the collection that show the concept or event best.

    fresh : only those without a label of it
    systems : the systems to ask, in this order; the first that knows the name answers
    method : a fitted one; by default the served one
    """
    system, chosen = _who_knows(workspace, name, systems)
    model = workspace.model(system)
    labelled = labelled_with(workspace.labels, system, chosen)
    described = {kind: workspace.matrices[kind] for kind in model.needs.features}
    items = [item for item in model.able(described) if not (fresh and item in labelled)]
    if not items:
        return Finds(chosen, system, model.method(method), [], 0, 0)
    answer = model.ask(described, items, chosen, method)
    order = np.argsort(-answer.scores, kind="stable")[:count].tolist()
    best = [Find(items[k], float(answer.scores[k]), items[k] in labelled) for k in order]
    return Finds(chosen, system, model.method(method), best, answer.evaluations, answer.possible)


def _who_knows(workspace: Workspace, name: str, systems: Sequence[str]) -> tuple[str, str]:
    """The first system that knows the name, and the name as it writes it; models are opened only if necessary."""
    known: dict[str, str] = {}
    reasons = []
    for system in systems:
        reason = workspace.why_not(system)
        if reason is None:
            names = workspace.model(system).names
            if name in names:
                return system, name
            known |= {other: known.get(other, system) for other in names}
        else:
            reasons.append(f"{system} can't be asked: {reason}")
    if not known:
        raise DataError(f"No system can find items by name yet. {' '.join(reasons)}")
    chosen = match_name(name, list(known), "concept or event")
    return known[chosen], chosen


def finds_page(finds: Finds, thumbnail: Callable[[str], bytes | None]) -> str:
    """The finds as HTML, best first; those that a label confirms are marked."""
    tiles = [
        Tile(thumbnail(found.item), f"{found.score:.3f}", rank, "good" if found.labelled else "", title=found.item)
        for rank, found in enumerate(finds.best, start=1)
    ]
    row = Row(finds.name, tiles, f"{len(tiles)} best, by {finds.method} of {finds.system}; {finds.work}")
    return render(Report(f"Find {finds.name}", (), [Section("Results", [Gallery("Best first", [row])])]))


def labelled_with(labels: Labels, system: str, name: str) -> frozenset[str]:
    """The items that a label says show the concept, or the event."""
    if system == "events":
        table = labels["events"]
        return frozenset(table.loc[(table["event"] == name) & table["relevant"].astype(bool), "clip"])
    return labels.showing(name)
