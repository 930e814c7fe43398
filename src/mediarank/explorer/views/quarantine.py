"""What can't be used, with reasons, what it needs and a picture where there is one; and what the checks found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank import store
from mediarank.asking.quarantine import current_quarantine
from mediarank.explorer.app import explorer_of

router = APIRouter()


@router.get("/quarantine")
def quarantine(request: Request, reason: str = "") -> Response:
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    found = current_quarantine(snapshot.workspace.data)
    rows = found.table.astype(str).to_dict("records")
    reasons: dict[str, int] = {}
    for row in rows:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return explorer.page(
        "quarantine.html",
        "/quarantine",
        rows=[
            {**row, "pictured": row["what"] == "file" and row["item_id"] in snapshot.place}
            for row in rows
            if not reason or row["reason"] == reason
        ],
        note=found.note,
        reasons=sorted(reasons.items(), key=lambda pair: -pair[1]),
        reason=reason,
        skipped=found.skipped.astype(str).to_dict("records"),
        checks=_checks(snapshot.workspace.data),
    )


def _checks(data: Path) -> list[dict[str, Any]]:
    found = []
    for stage in ("check_manifest", "check_features"):
        path = data / stage / "result.json"
        if path.exists():
            found += [{"stage": stage, **one} for one in store.read_json(path).get("expectations", [])]
    return sorted(found, key=lambda one: {"failed": 0, "warned": 1}.get(one["status"], 2))
