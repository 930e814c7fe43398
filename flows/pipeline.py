"""The pipeline as a Prefect flow: a task run a stage, in parallel where `dvc.yaml` allows.

Nothing is decided here: DVC says which stages there are, what each waits for and what is out of date (through
`mediarank.ops.run`); Prefect shows it, retries passing faults and keeps the logs. `python flows/pipeline.py` runs the
flow once; `flows/deployments.py` serves it on a schedule.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from mediarank.ops.environment import quiet_environment
from mediarank.ops.run import TRACK, Done, FollowUp, PassingFault, PipelineRun, StageFailed
from mediarank.ops.services import prefect_address

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":  # Prefect reads its settings when it is imported
    os.environ.update(quiet_environment(ROOT))
    os.environ["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] = "WARNING"
    if address := prefect_address(ROOT):
        os.environ.setdefault("PREFECT_API_URL", address)

from prefect import State, Task, flow, get_run_logger, task
