"""Find a concept or an event by name: best first, with probabilities, the cut-off line and its precision and recall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank.asking.find import labelled_with
from mediarank.asking.items import match_name
from mediarank.explorer.app import explorer_of
from mediarank.explorer.snapshot import Snapshot
from mediarank.types import DataError

router = APIRouter()
SHOWN: Final = 60
POINTS: Final = 60
"""Points of the curve that are drawn."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Everything that is known of one name, over all items that can be asked about."""

    system: str
    name: str
    method: str
    items: tuple[str, ...]
    scores: npt.NDArray[Any]
    evaluations: int
    possible: int


@router.get("/find")
def find(request: Request, name: str = "", fresh: str = "", cut: float | None = None, method: str = "") -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    names = {one: system for system in ("events", "concepts") for one in snapshot.names.get(system, ())}
    reasons = {system: snapshot.workspace.why_not(system) for system in ("concepts", "events")}
    if not name:
        return explorer.page("find.html", "/find", names=sorted(names), name="", found=None, reasons=reasons)
    if not names:
        raise DataError("Nothing can be found by name yet: no concept or event was learned.")
    chosen = match_name(name, list(names), "concept or event")
    ranked = rank(snapshot, names[chosen], chosen, method)
    labelled = labelled_with(snapshot.workspace.labels, ranked.system, chosen)
    order = np.argsort(-ranked.scores, kind="stable")
    rows = [k for k in order.tolist() if not (fresh and ranked.items[k] in labelled)]
    curve = held_out_curve(snapshot, ranked, labelled)
    line = cut if cut is not None else (curve["best"] if curve else None)
    return explorer.page(
        "find.html",
        "/find",
        names=sorted(names),
        name=chosen,
        reasons=reasons,
        found=ranked,
        methods=snapshot.workspace.model(ranked.system).methods,
        served=snapshot.workspace.model(ranked.system).served,
        rows=[
            {
                "item": ranked.items[k],
                "score": float(ranked.scores[k]),
                "labelled": ranked.items[k] in labelled,
                "above": line is None or ranked.scores[k] >= line,
            }
            for k in rows[:SHOWN]
        ],
        above=None if line is None else int((ranked.scores >= line).sum()),
        line=line,
        low=float(ranked.scores.min()) if len(ranked.scores) else 0.0,
        high=float(ranked.scores.max()) if len(ranked.scores) else 1.0,
        curve=curve,
        at_cut=at_cut(curve, line) if curve and line is not None else None,
        drawn=curve_path(curve) if curve else "",
        labelled=len(labelled),
        fresh=fresh,
        method=method,
    )


@lru_cache(maxsize=64)
def rank(snapshot: Snapshot, system: str, name: str, method: str) -> Ranked:
    model = snapshot.workspace.model(system)
    described = {kind: snapshot.workspace.matrices[kind] for kind in model.needs.features}
    items = tuple(item for item in model.able(described) if item in snapshot.place)
    answer = model.ask(described, list(items), name, method or None)
    used = model.method(method or None)
    return Ranked(system, name, used, items, answer.scores, answer.evaluations, answer.possible)


def held_out_curve(snapshot: Snapshot, ranked: Ranked, labelled: frozenset[str]) -> dict[str, Any] | None:
    """Precision and recall at every cut-off, on labelled items that nothing was fitted to; None if there are too few.

    points : (threshold, precision, recall), from the highest threshold down; best : the threshold of the best F1
    """
    judged = snapshot.judged(ranked.system)
    roles = snapshot.items["role"].to_numpy()
    held = np.array([
        item in judged and roles[snapshot.place[item]] in ("valid", "test") for item in ranked.items
    ], dtype=bool)  # fmt: skip
    relevant = np.array([item in labelled for item in ranked.items])[held]
    if not relevant.any():
        return None
    scores = ranked.scores[held]
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(relevant[order])
    depth = np.arange(1, len(order) + 1)
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))  # a cut-off never falls between equals
    precision, recall = right[ends] / depth[ends], right[ends] / right[-1]
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    best = int(np.argmax(f1))
    some = np.unique(np.linspace(0, len(ends) - 1, min(POINTS, len(ends))).round().astype(int))
    thresholds = scores[order][ends]
    return {
        "points": [(float(thresholds[k]), float(precision[k]), float(recall[k])) for k in some],
        "best": float(thresholds[best]),
        "items": int(held.sum()),
        "relevant": int(right[-1]),
        "average_precision": float(np.mean((right / depth)[relevant[order]])),
    }


def at_cut(curve: dict[str, Any], line: float) -> tuple[float, float] | None:
    """Precision and recall of the nearest drawn point at or above a cut-off."""
    above = [(precision, recall) for threshold, precision, recall in curve["points"] if threshold >= line]
    return above[-1] if above else None


def curve_path(curve: dict[str, Any]) -> str:
    """The curve as an SVG path in a box of 100 × 100: recall to the right, precision upwards."""
    return "M" + " L".join(
        f"{100 * recall:.1f},{100 - 100 * precision:.1f}" for _, precision, recall in curve["points"]
    )
