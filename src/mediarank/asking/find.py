"""Which items show a concept, and in which clips does an event happen, by the models that the stages wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mediarank.asking.items import match_name
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.blocks import Gallery, Row, Tile
from mediarank.evaluation.calibration import Count, Cut, best_cut, estimate_count
from mediarank.evaluation.report import Report, Section, render
from mediarank.labels import Labels
from mediarank.types import DataError

FINDERS: Final = ("concepts", "events")
"""The systems that are asked, in this order."""


@dataclass(frozen=True)
class Find:
    """An item that may show what was asked for; `labelled` if a label already says that it does.

    probability : that it does, where the method is calibrated
    """

    item: str
    score: float
    labelled: bool
    probability: float | None = None


@dataclass(frozen=True)
class Finds:
    """What one method of a system found for a name, best first.

    evaluations, possible : base models evaluated on items, and how many that would be without skipping any
    cut : where the line is drawn between items that probably show it and others
    estimate : how many items of the collection show it
    """

    name: str
    system: str
    method: str
    best: Sequence[Find]
    evaluations: int
    possible: int
    cut: Cut | None = None
    estimate: Count | None = None

    @property
    def line(self) -> str:
        """The cut and the estimate in words; empty where the method is not calibrated."""
        if self.cut is None or self.estimate is None:
            return ""
        return (
            f"About {self.estimate.expected:.0f} items show {self.name} ({self.estimate.low:.0f} to "
            f"{self.estimate.high:.0f}). The line is after {self.cut.count}, at a probability of "
            f"{self.cut.threshold:.2f}: of the items above it {self.cut.precision:.0%} show it, and they are "
            f"{self.cut.recall:.0%} of all that do."
        )

    @property
    def work(self) -> str:
        """How many evaluations were made of how many."""
        return f"{self.evaluations:,} of {self.possible:,} evaluations ({self.evaluations / max(self.possible, 1):.0%})"


def find(
    workspace: Workspace,
    name: str,
    count: int,
    fresh: bool = False,
    systems: Sequence[str] = FINDERS,
    method: str | None = None,
    precision: float | None = None,
) -> Finds:
    """The items of the collection that show the concept or event best.

    fresh : only those without a label of it
    systems : to ask, in this order; the first that knows the name answers
    method : a fitted one; by default the served one
    precision : that must hold above the line; by default the line has the best F1
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
    calibration = workspace.calibration(system) if model.method(method) == model.served else None
    if calibration is None or chosen not in calibration:
        best = [Find(items[k], float(answer.scores[k]), items[k] in labelled) for k in order]
        return Finds(chosen, system, model.method(method), best, answer.evaluations, answer.possible)
    p = calibration.probabilities(answer.scores[:, None], [chosen])[:, 0]
    best = [Find(items[k], float(answer.scores[k]), items[k] in labelled, float(p[k])) for k in order]
    unlabelled = np.array([item not in labelled for item in items])
    known = int((~unlabelled).sum())
    estimate = estimate_count(calibration, chosen, answer.scores[unlabelled], np.random.default_rng(0), known)
    return Finds(
        chosen,
        system,
        model.method(method),
        best,
        answer.evaluations,
        answer.possible,
        best_cut(p, precision),
        estimate,
    )


def _who_knows(workspace: Workspace, name: str, systems: Sequence[str]) -> tuple[str, str]:
    """The first system that knows the name, and the name as it writes it. A model is opened only if it must be."""
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
        raise DataError(f"Nothing can be found by name yet. {' '.join(reasons)}")
    chosen = match_name(name, list(known), "concept or event")
    return known[chosen], chosen


def finds_page(finds: Finds, thumbnail: Callable[[str], bytes | None]) -> str:
    """The finds as HTML, best first; those that a label confirms are marked."""
    tiles = [
        Tile(thumbnail(found.item), _worth(found), rank, "good" if found.labelled else "", title=found.item)
        for rank, found in enumerate(finds.best, start=1)
    ]
    how = f"{len(tiles)} best, by {finds.method} of {finds.system}; {finds.work}"
    row = Row(finds.name, tiles, f"{how}. {finds.line}" if finds.line else how)
    return render(Report(f"Find {finds.name}", (), [Section("Results", [Gallery("Best first", [row])])]))


def _worth(found: Find) -> str:
    return f"{found.score:.3f}" if found.probability is None else f"{found.probability:.0%}"


def labelled_with(labels: Labels, system: str, name: str) -> frozenset[str]:
    """The items that a label says show the concept, or the event."""
    if system == "events":
        table = labels["events"]
        return frozenset(table.loc[(table["event"] == name) & table["relevant"].astype(bool), "clip"])
    return labels.showing(name)
