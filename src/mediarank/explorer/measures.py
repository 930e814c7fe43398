"""What the models say of every item: how much of an attribute it has, how well it shows a name, and how likely that is.

Answers are kept as long as the version is shown. Models are asked one request at a time: their parallel code must not
run in two threads at once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.asking.find import labelled_with
from mediarank.asking.items import match_name
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.calibration import Calibration, Cut, best_cut, fit_calibration
from mediarank.explorer.snapshot import Snapshot
from mediarank.labels import Labels
from mediarank.teaching.learning import Trials, version_of
from mediarank.types import DataError, Doubles

ASKING: Final = threading.RLock()
"""Held while a model is asked."""
FINDERS: Final = ("events", "concepts")
NOW: Final = "learned now"
"""The method of a name that was learned beside the versioned model."""
HELD_OUT: Final = ("valid", "test")
"""Roles that no ranking was fitted to."""
TRIALS: Final = ".mediarank/trials"


@dataclass(frozen=True, eq=False)
class Ranked:
    """What is known of one name, over all items that can be asked about.

    system : concepts or events; the kind of the name where it was learned now
    probabilities : of a name that was learned now; those of the others depend on labels, see `calibrate`
    evaluations, possible : what it cost, and would have cost without skipping
    """

    system: str
    name: str
    method: str
    items: tuple[str, ...]
    scores: npt.NDArray[Any]
    evaluations: int = 0
    possible: int = 0
    probabilities: Doubles | None = None


def strength(snapshot: Snapshot, attribute: str) -> npt.NDArray[Any]:
    """How much of an attribute each item of the snapshot has; NaN where unknown."""
    model = snapshot.workspace.model("attributes")
    name = match_name(attribute, model.names, "attribute")
    return _over_items(snapshot, *_strengths(snapshot.workspace, name))


@lru_cache(maxsize=64)
def _strengths(workspace: Workspace, name: str) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    with ASKING:
        model = workspace.model("attributes")
        described = {kind: workspace.matrices[kind] for kind in model.needs.features}
        items = model.able(described)
        return tuple(items), model.rank(described, items, [name])[:, 0]


def findable(snapshot: Snapshot) -> dict[str, str]:
    """Name -> the system that knows it, or `learned now`."""
    found = {str(facts["name"]): NOW for facts in trials(snapshot) if facts["kind"] != "pair"}
    return found | {name: system for system in FINDERS for name in snapshot.names.get(system, ())}


def trials(snapshot: Snapshot) -> list[Any]:
    """Names that were learned beside the models of this version."""
    return list(Trials(snapshot.root / TRIALS).facts(_version(snapshot.workspace)))


@lru_cache(maxsize=4)
def _version(workspace: Workspace) -> str:
    return version_of(workspace.data)


def rank(snapshot: Snapshot, name: str, method: str = "") -> Ranked:
    """All items by one name. method : a fitted one, or `learned now`; by default the served one"""
    known = findable(snapshot)
    if not known:
        raise DataError("Nothing can be found by name yet: no concept or event was learned.")
    chosen = match_name(name, list(known), "concept or event")
    if method == NOW or known[chosen] == NOW:
        return _learned_now(snapshot, chosen)
    return _rank(snapshot.workspace, known[chosen], chosen, method)


@lru_cache(maxsize=64)
def _rank(workspace: Workspace, system: str, name: str, method: str) -> Ranked:
    with ASKING:
        model = workspace.model(system)
        described = {kind: workspace.matrices[kind] for kind in model.needs.features}
        items = tuple(model.able(described))
        answer = model.ask(described, list(items), name, method or None)
        used = model.method(method or None)
    return Ranked(system, name, used, items, answer.scores, answer.evaluations, answer.possible)


def _learned_now(snapshot: Snapshot, name: str) -> Ranked:
    kinds = [facts["kind"] for facts in trials(snapshot) if facts["name"] == name]
    kept = Trials(snapshot.root / TRIALS).scores(kinds[0], name, _version(snapshot.workspace)) if kinds else None
    if kept is None:
        raise DataError(f"{name} was not learned beside this version. Learn it on the page Review.")
    scores, chances = kept
    items = tuple(item for item in scores if item in snapshot.place)
    values, likely = (np.array([part[item] for item in items]) for part in (scores, chances))
    return Ranked(kinds[0], name, NOW, items, values, probabilities=likely)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A ranking with probabilities.

    shown : the items that a label says show the name; denied : that a label says do not
    probabilities : (items,), or None where nothing could be held out
    unseen : (items,) whether nothing was fitted to the item's label, so that its probability is honest
    cut : the line of the best expected F1 over those
    points : (threshold, precision, recall) on held-out items, from the highest threshold down; few are kept
    held, relevant : held-out items, and how many of them show the name
    """

    ranked: Ranked
    shown: frozenset[str]
    denied: frozenset[str]
    probabilities: Doubles | None
    unseen: npt.NDArray[np.bool_]
    calibration: Calibration | None
    cut: Cut | None
    points: tuple[tuple[float, float, float], ...]
    held: int
    relevant: int
    average_precision: float


POINTS: Final = 60
"""Points of the curve that are drawn."""


@lru_cache(maxsize=64)
def calibrate(snapshot: Snapshot, ranked: Ranked) -> Calibrated:
    """Probabilities by the labels of now, fitted on items that no ranking was fitted to."""
    system = "events" if ranked.system in ("event", "events") else "concepts"
    shown, denied = labelled_with(snapshot.labels, system, ranked.name), denied_by(snapshot.labels, system, ranked.name)
    if ranked.probabilities is not None:
        likely = ranked.probabilities
        unseen = np.array([item not in shown and item not in denied for item in ranked.items], dtype=bool)
        return Calibrated(ranked, shown, denied, likely, unseen, None, best_cut(likely[unseen]), (), 0, 0, float("nan"))
    judged, roles = snapshot.judged(system), snapshot.items["role"].to_numpy()
    looked = np.array([item in judged for item in ranked.items], dtype=bool)
    role = np.array([roles[snapshot.place[item]] in HELD_OUT for item in ranked.items], dtype=bool)
    held, unseen = looked & role, role | ~looked
    relevant = np.array([item in shown for item in ranked.items], dtype=bool)[held]
    calibration = _stored(snapshot.workspace, ranked)
    if calibration is None and relevant.any():
        calibration = fit_calibration(ranked.scores[held][:, None], relevant[:, None], [ranked.name])
    if calibration is None:
        return Calibrated(ranked, shown, denied, None, unseen, None, None, (), int(held.sum()), 0, float("nan"))
    likely = calibration.probabilities(ranked.scores[:, None], [ranked.name])[:, 0]
    points, ap = _curve(likely[held], relevant)
    return Calibrated(
        ranked, shown, denied, likely, unseen, calibration, best_cut(likely[unseen]), points, int(held.sum()),
        int(relevant.sum()), ap,
    )  # fmt: skip


def _stored(workspace: Workspace, ranked: Ranked) -> Calibration | None:
    """What the pipeline fitted for the served method, if it knows the name."""
    served = ranked.method == workspace.model(ranked.system).served
    found = workspace.calibration(ranked.system) if served else None
    return found if found is not None and ranked.name in found else None


def _curve(likely: Doubles, relevant: npt.NDArray[np.bool_]) -> tuple[tuple[tuple[float, float, float], ...], float]:
    """Points of precision against recall, from the highest threshold down, and the average precision."""
    if not relevant.any():
        return (), float("nan")
    order = np.argsort(-likely, kind="stable")
    right, depth = np.cumsum(relevant[order]), np.arange(1, len(order) + 1)
    ends = np.flatnonzero(np.append(np.diff(likely[order]) != 0, True))  # a line never falls between equals
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, min(POINTS, len(ends))).round().astype(int))]
    values = zip(likely[order][ends], right[ends] / depth[ends], right[ends] / right[-1], strict=True)
    points = tuple((float(t), float(p), float(r)) for t, p, r in values)
    return points, float(np.mean((right / depth)[relevant[order]]))


def denied_by(labels: Labels, system: str, name: str) -> frozenset[str]:
    """The items that a label says do not show the concept, or the event."""
    table, column, item = ("events", "event", "clip") if system == "events" else ("concepts", "concept", "item")
    rows = labels[table]
    return frozenset(rows.loc[(rows[column] == name) & ~rows["relevant"].astype(bool), item])


def measure(snapshot: Snapshot, what: str, name: str) -> npt.NDArray[Any]:
    """One number per row of the snapshot's table, NaN where unknown.

    what : `attribute` for how much of it an item has, `score` or `probability` for how well it shows a name
    """
    if what == "attribute":
        return strength(snapshot, name)
    ranked = rank(snapshot, name)
    if what == "score":
        return _over_items(snapshot, ranked.items, ranked.scores)
    likely = calibrate(snapshot, ranked).probabilities
    if likely is None:
        raise DataError(f"The probability of {name} is unknown: no held-out item is labelled with it.")
    return _over_items(snapshot, ranked.items, likely)


def _over_items(snapshot: Snapshot, items: tuple[str, ...], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    found = np.full(len(snapshot.items), np.nan)
    known = [(snapshot.place[item], k) for k, item in enumerate(items) if item in snapshot.place]
    found[[row for row, _ in known]] = values[[k for _, k in known]]
    return found
