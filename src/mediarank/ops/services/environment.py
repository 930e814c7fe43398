"""The environment of every process we start: quiet, offline, and with all files inside the project.

Every child process (a DVC stage, the Prefect server, the MLflow UI, a scheduled run) gets these variables, and so
does a script before it imports Prefect, which reads its settings on import.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from mediarank.ops.services.access import prefect_access

OWN = "http://127.0.0.1:"
"""The beginning of addresses of servers that `make up` or a flow's script has started."""
LONGEST_FOLDER = 60
STATE = ".mediarank"
"""The folder for what is neither code nor data: locks, logs, process ids, Prefect's database."""


def state_folder(root: Path) -> Path:
    """The project's own `.mediarank`, created if necessary."""
    folder = root.resolve() / STATE
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def quiet_environment(root: Path) -> dict[str, str]:
    """Variables that switch telemetry and update checks off and keep Prefect out of the user's home.

    Variables for places (`PREFECT_HOME`) keep a value that is already set; those that switch something off do not.
    """
    return {
        # MLflow accepts only "true" here; Prefect accepts it too.
        "DO_NOT_TRACK": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GX_ANALYTICS_ENABLED": "false",  # 1.24 sends nothing, but earlier versions do
        "DVC_NO_ANALYTICS": "1",
        "ITERATIVE_DO_NOT_TRACK": "1",
        "DVC_STUDIO_OFFLINE": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # MLflow would start a pool of job workers that nothing here uses.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "PREFECT_HOME": os.environ.get("PREFECT_HOME") or str(state_folder(root) / "prefect"),
        # A temporary server takes 8 to 13 s to start on a busy machine; Prefect gives up after 20 by default.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
        "PREFECT_CLI_PROMPT": "false",
        # Every line that a stage prints is in the log at once.
        "PYTHONUNBUFFERED": "1",
        # Our server accepts no other web page; `up` adds its own address.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
        **_access(root),
    }


def _access(root: Path) -> dict[str, str]:
    """The password of the project's own Prefect server; another server, which the user names, has another one."""
    if not os.environ.get("PREFECT_API_URL", OWN).startswith(OWN):
        return {}
    access = os.environ.get("PREFECT_API_AUTH_STRING") or prefect_access(root)
    return {"PREFECT_API_AUTH_STRING": access, "PREFECT_SERVER_API_AUTH_STRING": access}


def temporary_folder(root: Path) -> Path:
    """The folder for temporary files of this project's services: inside it, so that users and clones share none.

    Names of sockets have at most 107 characters. If the project's path is too long for them, it is a folder of the
    system that only this user can enter, one per project.
    """
    folder = _temporary_path(root)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        from mediarank.types import MediarankError

        raise MediarankError(f"{folder} belongs to another user; delete it, or set TMPDIR to one of your folders.")
    return folder


def remove_temporary_folder(root: Path) -> None:
    """Remove the temporary files of this project's services, all of which have ended."""
    folder = _temporary_path(root)
    if folder.is_dir() and folder.stat().st_uid == os.getuid():
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_path(root: Path) -> Path:
    folder = state_folder(root) / "tmp"
    if len(os.fsencode(folder)) <= LONGEST_FOLDER:
        return folder
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"mediarank-{os.getuid()}-{digest}"


def child_environment(root: Path) -> dict[str, str]:
    """This process's environment with the quiet variables, for a child."""
    return {**os.environ, **quiet_environment(root)}
