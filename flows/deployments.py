"""Serve the deployments that `prefect.yaml` declares, one run at a time.

One process waits for runs, scheduled or requested in the Prefect UI, and starts them. `make up` runs this script;
`python flows/deployments.py` does the same in the foreground. `MEDIARANK_NIGHTLY` sets the time of the nightly run, as
a cron expression.
"""

# ruff: noqa: E402 - Prefect reads its settings when it is imported, so they come first
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from mediarank.ops.services.environment import quiet_environment
from mediarank.ops.services.processes import prefect_api

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ.update(quiet_environment(ROOT))
    if api := prefect_api(ROOT):
        os.environ.setdefault("PREFECT_API_URL", api)

from prefect import serve
from prefect.deployments.runner import RunnerDeployment
from prefect.flows import load_flow_from_entrypoint
from prefect.schedules import Cron
from tzlocal import get_localzone_name


def declared(root: Path = ROOT) -> list[RunnerDeployment]:
    """The deployments of `prefect.yaml`, their times in this machine's time zone."""
    entries = yaml.safe_load((root / "prefect.yaml").read_text())["deployments"]
    return [_deployment(entry) for entry in entries]


def _deployment(entry: dict[str, Any]) -> RunnerDeployment:
    zone = get_localzone_name() or "UTC"
    times = [schedule["cron"] for schedule in entry.get("schedules", ())]
    if entry["name"] == "nightly":
        times = [os.environ.get("MEDIARANK_NIGHTLY") or time for time in times]
    return load_flow_from_entrypoint(entry["entrypoint"]).to_deployment(
        name=entry["name"],
        description=entry["description"],
        parameters=entry.get("parameters"),
        schedules=[Cron(time, timezone=zone) for time in times],
        tags=entry.get("tags"),
    )


if __name__ == "__main__":
    # Schedules are paused when this ends, so that nights without a runner do not accumulate as late runs.
    serve(*declared(), limit=1)
