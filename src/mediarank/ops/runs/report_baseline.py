"""What the next report is compared with: `baseline/report.json`, the summary of the last one (decision 13).

It is a file in git that the stage `report` depends on, so the report stays a function of its inputs. A run that is
about to make something new puts the summary of what is there into it first; a run that has nothing to do, or only the
report to write, leaves it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mediarank.ops.runs.dag import Stage

STAGE: Final = "report"
NO_NEWS: Final = frozenset({"wire", STAGE})
"""Stages that say nothing about data, settings or results by themselves."""
SUMMARY: Final = "data/report/summary.json"
BASELINE: Final = "baseline/report.json"


def renew_baseline(root: Path, stages: Iterable[Stage]) -> bool:
    """Keep the summary of the last report if a new version is about to be made; whether the baseline has changed."""
    if all(stage.unchanged for stage in stages if stage.address not in NO_NEWS):
        return False
    summary, baseline = root / SUMMARY, root / BASELINE
    if not summary.exists() or not baseline.exists() or summary.read_bytes() == baseline.read_bytes():
        return False
    from mediarank import store

    store.write_bytes(baseline, summary.read_bytes())
    return True
