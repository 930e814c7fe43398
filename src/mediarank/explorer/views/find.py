"""Find a concept or an event by name: best first, with probabilities, the line and what is expected above it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank.evaluation.calibration import Count, Cut, estimate_count
from mediarank.explorer.app import explorer_of
from mediarank.explorer.measures import ASKING, NOW, Calibrated, Ranked, calibrate, findable, rank, trials
from mediarank.explorer.snapshot import Snapshot

router = APIRouter()
SHOWN: Final = 60
SEED: Final = 7


@router.get("/find")
def find(request: Request, name: str = "", fresh: str = "", cut: float | None = None, method: str = "") -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    names = sorted(findable(snapshot))
    reasons = {system: snapshot.workspace.why_not(system) for system in ("concepts", "events")}
    if not name.strip():
        return explorer.page("find.html", "/find", names=names, name="", found=None, reasons=reasons)
    ranked = rank(snapshot, name.strip(), method)
    known = calibrate(snapshot, ranked)
    line = known.cut.threshold if cut is None and known.cut is not None else cut
    likely = known.probabilities
    order = np.argsort(-ranked.scores, kind="stable").tolist()
    rows = [k for k in order if not (fresh and ranked.items[k] in known.shown)][:SHOWN]
    return explorer.page(
        "find.html",
        "/find",
        names=names,
        name=ranked.name,
        reasons=reasons,
        found=ranked,
        known=known,
        methods=methods(snapshot, ranked),
        rows=[
            {
                "item": ranked.items[k],
                "score": float(ranked.scores[k]),
                "probability": None if likely is None else float(likely[k]),
                "labelled": ranked.items[k] in known.shown,
                "above": likely is None or line is None or likely[k] >= line,
            }
            for k in rows
        ],
        line=line if likely is not None else None,
        above=expected(known, line),
        total=total(known),
        measured=at_line(known, line),
        drawn="M" + " L".join(f"{100 * recall:.1f},{100 - 100 * p:.1f}" for _, p, recall in known.points),
        fresh=fresh,
        method=method,
        now=NOW,
    )


def methods(snapshot: Snapshot, ranked: Ranked) -> list[tuple[str, str]]:
    """Methods that can be asked, with what is said of them."""
    found: list[tuple[str, str]] = []
    if ranked.system in ("concepts", "events"):
        model = snapshot.workspace.model(ranked.system)
        found = [(one, f"{one} (served)" if one == model.served else one) for one in model.methods]
    learned = any(facts["name"] == ranked.name for facts in trials(snapshot))
    return [*found, *([(NOW, NOW)] if learned else [])]


def expected(known: Calibrated, line: float | None) -> Cut | None:
    """Items above a line; precision and recall as the probabilities of items promise that nothing was fitted to."""
    if known.probabilities is None or line is None:
        return None
    above = known.probabilities >= line
    likely = known.probabilities[known.unseen]
    inside, count, whole = float(likely[likely >= line].sum()), int((likely >= line).sum()), float(likely.sum())
    return Cut(
        line, int(above.sum()), inside / count if count else float("nan"), inside / whole if whole else float("nan")
    )


@lru_cache(maxsize=64)
def total(known: Calibrated) -> Count | None:
    """How many items show the name in all: those that are labelled with it, and an estimate for the unlabelled."""
    if known.calibration is None:
        return None
    items = known.ranked.items
    open_rows = np.array([item not in known.shown and item not in known.denied for item in items], dtype=bool)
    labelled = sum(item in known.shown for item in items)
    with ASKING:  # it takes some memory, so one at a time
        return estimate_count(
            known.calibration, known.ranked.name, known.ranked.scores[open_rows], np.random.default_rng(SEED), labelled
        )


def at_line(known: Calibrated, line: float | None) -> tuple[float, float] | None:
    """Precision and recall on held-out items at the last drawn point above a line."""
    above = [(precision, recall) for threshold, precision, recall in known.points if line and threshold >= line]
    return above[-1] if above else None
