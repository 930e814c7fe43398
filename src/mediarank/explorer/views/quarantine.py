"""What can't be used, with reasons, and what the checks found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from mediarank import store
from mediarank.explorer.app import explorer_of

router = APIRouter()


@router.get("/quarantine")
def quarantine(request: Request, reason: str = "") -> Response:
    explorer = explorer_of(request)
    data = explorer.snapshot.workspace.data
    rows = _rows(data)
    reasons: dict[str, int] = {}
    for row in rows:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return explorer.page(
        "quarantine.html",
        "/quarantine",
        rows=[row for row in rows if not reason or row["reason"] == reason],
        reasons=sorted(reasons.items(), key=lambda pair: -pair[1]),
        reason=reason,
        checks=_checks(data),
    )


def _rows(data: Path) -> list[dict[str, str]]:
    """The table of the latest stage that wrote one."""
    for stage in ("frames", "manifest"):
        path = data / stage / "quarantine.csv"
        if path.exists():
            return [{str(k): str(v) for k, v in row.items()} for row in store.read_quarantine(path).to_dict("records")]
    return []


def _checks(data: Path) -> list[dict[str, Any]]:
    found = []
    for stage in ("check_manifest", "check_features"):
        path = data / stage / "result.json"
        if path.exists():
            found += [{"stage": stage, **one} for one in store.read_json(path).get("expectations", [])]
    return sorted(found, key=lambda one: {"failed": 0, "warned": 1}.get(one["status"], 2))
