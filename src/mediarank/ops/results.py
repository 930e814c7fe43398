"""What a finished run has to show, as rows and text that any front end can display."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REPORT = "data/report/report.html"


def metrics_rows(root: Path) -> list[dict[str, Any]]:
    """One row a system and method, with its metrics, from `data/evaluation/*/metrics.json`."""
    return [
        {"system": path.parent.name, "method": method, **metrics}
        for path in sorted(root.glob("data/evaluation/*/metrics.json"))
        for method, metrics in json.loads(path.read_text()).items()
    ]


def checks_markdown(root: Path) -> str:
    """The data checks in a table, and below it every expectation that was not met, with its remedy."""
    found = [json.loads(path.read_text()) for path in sorted(root.glob("data/check_*/result.json"))]
    if not found:
        return ""
    lines = ["| check | verdict | passed | warned | failed | skipped |", "|---|---|--:|--:|--:|--:|"]
    for result in found:
        verdict = "passed" if result["success"] else "**failed**"
        numbers = (result["counts"].get(status, 0) for status in ("passed", "warned", "failed", "skipped"))
        lines.append(f"| {result['check']} | {verdict} | " + " | ".join(map(str, numbers)) + " |")
    for result in found:
        for outcome in result["expectations"]:
            if outcome["status"] in ("warned", "failed"):
                where = f"{outcome['failing_rows']} of {outcome['rows']} rows"
                lines.append(
                    f"\n**{outcome['status']}: {outcome['name']}** ({outcome['subject']}, {where}). "
                    f"{outcome['expected']} {outcome['remedy']}"
                )
    return "\n".join(lines)


def report_address(root: Path) -> str:
    """Where a browser on this machine finds the report; empty if there is none yet."""
    path = (root / REPORT).resolve()
    return path.as_uri() if path.exists() else ""
