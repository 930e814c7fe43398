"""What a run shows, from files of known content."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mediarank.ops.checks.result import CheckResult, Outcome
from mediarank.ops.runs import results
from mediarank.ops.runs.results import (
    checks_markdown,
    decisions,
    decisions_markdown,
    failed_checks_markdown,
    ingested_rows,
    item_count,
    metrics_rows,
    report_address,
    results_markdown,
    results_picture,
    run_title,
)


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def outcome(name: str, status: Any, failing: int = 0) -> Outcome:
    return Outcome(name, "the manifest", "error", status, "Every item has a width.", "Decode it again.", 40, failing)


def test_nothing_to_show_yet(tmp_path: Path) -> None:
    assert metrics_rows(tmp_path) == []
    assert checks_markdown(tmp_path) == ""
    assert report_address(tmp_path) == ""


def test_one_row_per_system_and_method(tmp_path: Path) -> None:
    write(tmp_path / "data/evaluation/retrieval/metrics.json", {"uni_con": {"map": 0.5, "ndcg": 0.25}})
    write(tmp_path / "data/evaluation/concepts/metrics.json", {"a": {"map": 0.75}, "b": {"map": 1.0}})
    assert metrics_rows(tmp_path) == [
        {"system": "concepts", "method": "a", "map": 0.75},
        {"system": "concepts", "method": "b", "map": 1.0},
        {"system": "retrieval", "method": "uni_con", "map": 0.5, "ndcg": 0.25},
    ]


def test_checks_as_the_check_stages_write_them(tmp_path: Path) -> None:
    good = CheckResult("check_features", (outcome("widths", "passed"),))
    bad = CheckResult("check_manifest", (outcome("widths", "failed", 3), outcome("heights", "warned", 1)))
    for result in (good, bad):
        write(tmp_path / "data" / result.check / "result.json", result.to_json())
    lines = checks_markdown(tmp_path).splitlines()
    assert lines[2:4] == [
        "| check_features | passed | 1 | 0 | 0 | 0 |",
        "| check_manifest | **failed** | 0 | 1 | 1 | 0 |",
    ]
    assert lines[5] == "**failed: widths** (the manifest, 3 of 40 rows). Every item has a width. Decode it again."
    assert lines[7].startswith("**warned: heights**")


def test_the_report_is_where_the_explorer_serves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "data/report/report.html"
    report.parent.mkdir(parents=True)
    report.touch()
    assert report_address(tmp_path) == "", "no explorer runs"
    for alive, address in ((False, ""), (True, "http://127.0.0.1:8765/report")):
        explorer = SimpleNamespace(alive=alive, address="http://127.0.0.1:8765")
        monkeypatch.setattr(results, "read_records", lambda _, found=explorer: {"explorer": found})
        assert report_address(tmp_path) == address


def test_a_failed_check_has_a_page_to_itself(tmp_path: Path) -> None:
    bad = CheckResult("check_manifest", (outcome("widths", "failed", 3), outcome("heights", "warned", 1)))
    write(tmp_path / "data/check_manifest/result.json", bad.to_json())
    text = failed_checks_markdown(tmp_path)
    assert text.startswith("## widths failed")
    assert all(part in text for part in ("Every item has a width.", "3 of 40 rows of the manifest", "Decode it again."))
    assert "heights" not in text


def test_results_with_bars_and_a_run_title(tmp_path: Path) -> None:
    assert results_markdown(tmp_path) == results_picture(tmp_path) == ""
    assert run_title(tmp_path, "nightly 2026-11-16", True) == "nightly 2026-11-16 · no results"
    found = {"served": "m", "measure": "mAP", "mean": 0.5, "low": 0.4, "high": 0.6, "names": {}}
    before = {"items": {"image": 1}, "prints": {"a": "1"}, "labels": {}, "systems": {"concepts": found}, "settings": {}}
    write(tmp_path / "baseline/report.json", before)
    write(tmp_path / "data/report/summary.json", {**before, "items": {"image": 2}, "prints": {"a": "1", "b": "2"}})
    (tmp_path / "data/report/results.svg").write_text("<svg/>")
    text = results_markdown(tmp_path)
    assert "- Items: 1 new." in text
    assert f"| concepts | m | mAP | {'█' * 10}{'░' * 10} | **0.500** | 0.400 to 0.600 |" in text
    assert results_picture(tmp_path) == "data:image/svg+xml;base64,PHN2Zy8+"
    assert run_title(tmp_path, "nightly 2026-11-16", True) == "nightly 2026-11-16 · 1 new item"
    assert run_title(tmp_path, "by hand 2026-11-16", False) == "by hand 2026-11-16 · nothing to do"
    assert item_count(tmp_path) == 2


def test_decisions_say_why_and_what_moved_too_far(tmp_path: Path) -> None:
    assert decisions(tmp_path) == []
    assert decisions_markdown(tmp_path) == "No system has a model that can be served."
    moved = {"measure": "share", "limit": 0.25, "detail": "most"}
    decision = {
        "system": "retrieval",
        "candidate": "3",
        "promoted": False,
        "why": ["It is worse.", "So it stays."],
        "moved": [
            {**moved, "what": "hog", "value": 0.5, "too_far": True},
            {**moved, "what": "lab", "value": 0.125, "too_far": False},
        ],
    }
    write(tmp_path / ".mediarank/promotion.json", {"decisions": [decision]})
    lines = decisions_markdown(tmp_path).splitlines()
    assert lines[0] == "**retrieval: version 3 not promoted.** It is worse. So it stays."
    assert lines[-2:] == ["| hog | share | **0.5** | 0.25 | most |", "| lab | share | 0.125 | 0.25 | most |"]


def test_what_came_in_last_is_listed_by_system(tmp_path: Path) -> None:
    assert ingested_rows(tmp_path) == []
    folder = tmp_path / ".mediarank/ingested/retrieval"
    folder.mkdir(parents=True)
    (folder / "best.csv").write_text('query,rank,name,score\n"a,b.jpg",1,c.jpg,0.5\n')
    assert ingested_rows(tmp_path) == [
        {"system": "retrieval", "query": "a,b.jpg", "rank": "1", "name": "c.jpg", "score": "0.5"}
    ]
