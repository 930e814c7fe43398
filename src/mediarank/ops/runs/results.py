"""The results of a finished run as rows and text that any front end can show."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

REPORT = "data/report/report.html"
PROMOTION = ".mediarank/promotion.json"
INGESTED = ".mediarank/ingested"


def metrics_rows(root: Path) -> list[dict[str, Any]]:
    """One row per system and method, with its metrics, from `data/evaluation/*/metrics.json`."""
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
    """The address of the report for a browser on this machine; empty if there is none yet."""
    path = (root / REPORT).resolve()
    return path.as_uri() if path.exists() else ""


def decisions(root: Path) -> list[dict[str, Any]]:
    """The decisions of the last promotion, one entry per system."""
    path = root / PROMOTION
    return list(json.loads(path.read_text())) if path.exists() else []


def decisions_markdown(root: Path) -> str:
    """The decisions in sentences, each with the drift since the champion's version."""
    lines = []
    for decision in decisions(root):
        verb = "promoted" if decision["promoted"] else "not promoted"
        lines.append(f"\n**{decision['system']}: version {decision['candidate']} {verb}.** {' '.join(decision['why'])}")
        if decision["moved"]:
            lines += ["", "| what | measure | moved | limit | most |", "|---|---|--:|--:|---|"]
        for m in decision["moved"]:
            value = f"**{m['value']:.3g}**" if m["too_far"] else f"{m['value']:.3g}"
            lines.append(f"| {m['what']} | {m['measure']} | {value} | {m['limit']:g} | {m['detail']} |")
    return "\n".join(lines).strip() or "No system has a model that can be served."


def ingested_rows(root: Path) -> list[dict[str, Any]]:
    """The best results for each new item, one row per item and system."""
    rows = []
    for path in sorted((root / INGESTED).glob("*/best.csv")):
        with path.open(newline="") as file:
            rows += [{"system": path.parent.name, **row} for row in csv.DictReader(file)]
    return rows
