"""The results of a finished run as rows and text that any front end can show."""

from __future__ import annotations

import base64
import csv
from pathlib import Path
from typing import Any

from mediarank import store
from mediarank.evaluation.version_changes import changes, headline
from mediarank.ops.runs.tracked_values import summaries
from mediarank.ops.services.processes import read_records

REPORT = "data/report/report.html"
PICTURE = "data/report/results.svg"
BAR = 20
"""Characters of a full bar."""
PROMOTION = ".mediarank/promotion.json"
INGESTED = ".mediarank/ingested"


def metrics_rows(root: Path) -> list[dict[str, Any]]:
    """One row per system and method, with its metrics, from `data/evaluation/*/metrics.json`."""
    return [
        {"system": path.parent.name, "method": method, **metrics}
        for path in sorted(root.glob("data/evaluation/*/metrics.json"))
        for method, metrics in _measured(path).items()
    ]


def _measured(path: Path) -> dict[str, Any]:
    """The content of a metrics.json, compared with the checksum that its stage keeps beside it."""
    found = store.read_measured(path.parent)[0] if (path.parent / "summary.parquet").exists() else store.read_json(path)
    return dict(found)


def checks_markdown(root: Path) -> str:
    """The data checks in a table, and below it every expectation that was not met, with its remedy."""
    found = [store.read_json(path) for path in sorted(root.glob("data/check_*/result.json"))]
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


def failed_checks_markdown(root: Path) -> str:
    """Only the expectations that stopped the run: what was expected, where it failed and what to do; else empty."""
    found = [store.read_json(path) for path in sorted(root.glob("data/check_*/result.json"))]
    failed = [outcome for result in found for outcome in result["expectations"] if outcome["status"] == "failed"]
    parts = [
        f"## {outcome['name']} failed\n\n**Expected**: {outcome['expected']}\n\n**Found**: "
        f"{outcome['problem'] or 'see the rows'}, {outcome['failing_rows']} of {outcome['rows']} rows of "
        f"{outcome['subject']}.\n\n**What to do**: {outcome['remedy']}"
        for outcome in failed
    ]
    return "\n\n".join(parts)


def results_markdown(root: Path) -> str:
    """What is new, and the measure of each system as a bar; empty if there is no report yet."""
    before, now = summaries(root)
    if not now:
        return ""
    new = changes(before, now) or [f"{headline(before, now).capitalize()}."]
    lines = ["## What is new", "", *(f"- {sentence}" for sentence in new), "", "## What is found, on test items", ""]
    lines += ["| system | answers | measure | | mean | interval |", "|---|---|---|---|--:|---|"]
    for name, r in now["systems"].items():
        full = round(BAR * max(0.0, min(1.0, r["mean"])))
        bar = "█" * full + "░" * (BAR - full)
        interval = f"{r['low']:.3f} to {r['high']:.3f}"
        lines.append(f"| {name} | {r['served']} | {r['measure']} | {bar} | **{r['mean']:.3f}** | {interval} |")
    if address := report_address(root):
        lines += ["", f"[The whole report]({address})"]
    return "\n".join(lines)


def results_picture(root: Path) -> str:
    """The picture of the results as an address that contains it; empty if there is none."""
    path = root / PICTURE
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}" if path.exists() else ""


def report_address(root: Path) -> str:
    """Where the explorer serves the report; empty if there is no report yet, or no explorer that `make up` started."""
    explorer = read_records(root).get("explorer")
    there = (root / REPORT).exists() and explorer is not None and explorer.alive
    return f"{explorer.address}/report" if there and explorer else ""


def run_title(root: Path, cause: str, work_done: bool) -> str:
    """What a run is called when it has ended: why it ran, and what was new."""
    before, now = summaries(root)
    return f"{cause} · {headline(before, now) if work_done and now else 'nothing to do' if now else 'no results'}"


def item_count(root: Path) -> int:
    """How many items the last report was about; 0 if there is none."""
    return sum(summaries(root)[1].get("items", {}).values())


def decisions(root: Path) -> list[dict[str, Any]]:
    """The decisions of the last promotion, one entry per system."""
    path = root / PROMOTION
    return list(store.read_json(path)["decisions"]) if path.exists() else []


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
