"""The environment of everything we start: quiet, offline, and at home inside the project.

Every child process (a DVC stage, the Prefect server, the MLflow UI, a scheduled run) gets these variables, and so
does a script before it imports Prefect, which reads its settings on import.
"""

from __future__ import annotations

import os
from pathlib import Path

STATE = ".mediarank"
"""The folder of what is neither code nor data: locks, logs, process ids, Prefect's database."""


def state_folder(root: Path) -> Path:
    """The project's own `.mediarank`, made if need be."""
    folder = root.resolve() / STATE
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def quiet_environment(root: Path) -> dict[str, str]:
    """Variables that switch telemetry and update checks off and keep Prefect out of the user's home.

    What decides where things are (`PREFECT_HOME`) gives way to what is already set; what silences does not.
    """
    return {
        # MLflow takes this word only as "true"; Prefect takes it too.
        "DO_NOT_TRACK": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GX_ANALYTICS_ENABLED": "false",  # 1.24 sends nothing any more; earlier versions do
        "DVC_NO_ANALYTICS": "1",
        "ITERATIVE_DO_NOT_TRACK": "1",
        "DVC_STUDIO_OFFLINE": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # MLflow would start a pool of job workers that nothing here uses.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "PREFECT_HOME": os.environ.get("PREFECT_HOME") or str(state_folder(root) / "prefect"),
        # A temporary server takes 8 to 13 s to start on a busy machine; Prefect's own patience ends after 20.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
        "PREFECT_CLI_PROMPT": "false",
        # A line that a stage prints is a line in the log, at once.
        "PYTHONUNBUFFERED": "1",
    }


def child_environment(root: Path) -> dict[str, str]:
    """This process's environment made quiet, for a child."""
    return {**os.environ, **quiet_environment(root)}
