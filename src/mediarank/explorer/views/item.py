"""One item: large, playing, with its labels, suggestions, attributes, near-duplicates and where it comes from."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank.asking.annotate import annotate
from mediarank.asking.items import Asked, own_name
from mediarank.explorer.app import Explorer, explorer_of
from mediarank.explorer.measures import ASKING, strength
from mediarank.explorer.said import labels_with_origin
from mediarank.explorer.snapshot import Snapshot
from mediarank.explorer.views.media import frames_of
from mediarank.types import MediarankError

router = APIRouter()
WORDS: Final = 8
"""Keywords that are suggested."""
RAISED: Final = 3
"""Frames that are shown as the ones that raised the score."""


@router.get("/item")
def item(request: Request, item: str, said: str = "", event: str = "") -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    row = snapshot.row(item)
    place = snapshot.place[item]
    ids, usable = snapshot.items["item"], np.flatnonzero(snapshot.usable)
    at = int(np.searchsorted(usable, place))
    after = at + (0 if row["quarantine"] else 1)
    events = snapshot.names.get("events", ()) if row["kind"] == "clip" and not row["quarantine"] else ()
    return explorer.page(
        "item.html",
        "/",
        item=item,
        row=row,
        labels=labels_with_origin(snapshot, item),
        names=sorted(name for name, kinds in snapshot.vocabulary.known.items() if set(kinds) != {"pair"}),
        alike=[other for other in snapshot.groups.get(row["group"], []) if other != item],
        words=suggested(snapshot, item),
        attributes=strengths(snapshot, place),
        before=ids.iloc[usable[at - 1]] if at else None,
        after=ids.iloc[usable[after]] if after < len(usable) else None,
        original=own_path(explorer, str(row["path"])),
        timeline=timeline(snapshot, item, event) if events else None,
        events=events,
        said=said,
    )


@router.get("/item/lineage")
def lineage(request: Request, item: str) -> Response:
    """The recorded runs that had this item, and in which role."""
    from mediarank.ops.runs.lineage import Use, uses
    from mediarank.ops.runs.recorded_runs import Run, Runs
    from mediarank.ops.versions.objects import Objects

    explorer = explorer_of(request)
    explorer.snapshot.row(item)
    problem = ""
    found: list[Use] = []
    unknown: list[Run] = []
    try:
        with Objects(explorer.root, None) as objects:
            found, unknown = uses(Runs(explorer.root), objects, item)
    except MediarankError as error:
        problem = str(error)
    return explorer.part("_lineage.html", found=found, unknown=unknown, problem=problem)


def own_path(explorer: Explorer, path: str) -> str:
    """Where the user has the file, if it is still there, else how to get it."""
    if explorer.originals is not None:
        return own_name(explorer.snapshot.workspace.originals, explorer.root / explorer.originals, path)
    return path


def suggested(snapshot: Snapshot, item: str) -> list[tuple[str, str]]:
    """Keywords that fit, best first, with their probabilities in words, or scores where the method has none.

    None where the item or the collection can't be annotated.
    """
    if "annotation" not in snapshot.names:
        return []
    try:
        with ASKING:
            table = annotate(snapshot.workspace, [Asked(item, item=item)], WORDS)
    except MediarankError:
        return []
    rows = zip(table["name"], table["score"], table["probability"], strict=True)
    return [(name, f"{score:.2f}" if p != p else f"{p:.0%}") for name, score, p in rows]


def strengths(snapshot: Snapshot, place: int) -> list[dict[str, Any]]:
    """Per attribute where the item stands between the weakest and the strongest, in percent."""
    found = []
    for name in snapshot.names.get("attributes", ()):
        values = strength(snapshot, name)
        if not np.isnan(values[place]):
            known = values[~np.isnan(values)]
            found.append({"name": name, "percent": round(100 * float((known < values[place]).mean()))})
    return found


def timeline(snapshot: Snapshot, item: str, event: str) -> dict[str, Any] | None:
    """An event's probability in each frame of a clip, by the classifier that looks at frames; None without one.

    event : by default the one that the clip is labelled with, or else the likeliest
    """
    from mediarank.systems.events.model import FROZEN, Model  # slow to import

    model = snapshot.workspace.model("events")
    frames = frames_of(snapshot.workspace, item)
    if not isinstance(model, Model) or frames.empty:
        return None
    by_frame = [name for name, kind in model.looks_at.items() if kind.endswith("_frames")]
    if not by_frame:
        return None
    matrix = snapshot.workspace.matrices[model.looks_at[by_frame[0]]]
    ids = [name for name in frames["frame_id"].tolist() if name in matrix]
    if not ids:
        return None
    with ASKING:
        likely = model.classifiers[FROZEN][by_frame[0]].probabilities(matrix, ids)
    labelled = [name for kind, name in snapshot.labels_of.get(item, ()) if kind == "event" and name in model.names]
    best = model.names[int(likely.mean(axis=0).argmax())]
    chosen = event if event in model.names else (labelled or [best])[0]
    own = likely[:, model.names.index(chosen)]
    table = frames.set_index("frame_id").loc[ids]
    seconds = table["seconds"].to_numpy(dtype=float)
    length = max(float(snapshot.row(item)["seconds"]), float(seconds.max()), 0.1)
    points = [
        {"x": 100 * s / length, "y": 100 - 100 * float(p), "p": float(p), "seconds": s, "index": int(n)}
        for s, p, n in zip(seconds.tolist(), own.tolist(), table["index"].tolist(), strict=True)
    ]
    return {
        "event": chosen,
        "by": by_frame[0],
        "points": points,
        "path": "M" + " L".join(f"{point['x']:.1f},{point['y']:.1f}" for point in points),
        "raised": sorted(points, key=lambda point: -point["p"])[:RAISED],
    }
