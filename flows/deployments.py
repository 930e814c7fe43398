"""Serve the pipeline: the deployment `pipeline/nightly`, at two in the morning unless `MEDIARANK_NIGHTLY` says else.

One process both waits for runs, scheduled or asked for in the Prefect UI, and starts them, one at a time. `make up`
runs this script; `python flows/deployments.py` does the same in the foreground.
"""

# ruff: noqa: E402 - Prefect reads its settings when it is imported, so they come first
from __future__ import annotations

import os
from pathlib import Path

from mediarank.ops.environment import quiet_environment
from mediarank.ops.processes import prefect_api

ROOT = Path(__file__).resolve().parents[1]
NIGHTLY = os.environ.get("MEDIARANK_NIGHTLY") or "0 2 * * *"
"""When, as cron writes it, in this machine's time zone."""

if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ.update(quiet_environment(ROOT))
    if api := prefect_api(ROOT):
        os.environ.setdefault("PREFECT_API_URL", api)

from pipeline import pipeline
from prefect.schedules import Cron
from tzlocal import get_localzone_name


def main() -> None:
    # The schedule is paused when this ends, so that nights without a runner do not pile up as late runs.
    pipeline.serve(name="nightly", schedule=Cron(NIGHTLY, timezone=get_localzone_name() or "UTC"), limit=1)


if __name__ == "__main__":
    main()
