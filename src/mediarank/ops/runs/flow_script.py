"""A script that runs a flow: its Prefect settings, and a server for it if there is none.

Prefect can start a temporary server itself, but leaves it behind when the script is killed. Ours runs under a guard
(`tied_process.py`) and ends with the script, however that ends. It starts, and the plan is read, while the script is
still importing Prefect.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from mediarank.ops.runs.stage_processes import GRACE, let_go
from mediarank.ops.runs.workspace_run import begin_early
from mediarank.ops.services.environment import child_environment, quiet_environment, state_folder
from mediarank.ops.services.prefect_app import HOSTS
from mediarank.ops.services.processes import prefect_api

PATIENCE = 90.0
"""Seconds to wait for the server, which takes 8 to 13 seconds on a busy machine."""


def settle(root: Path) -> Callable[[], None]:
    """Prepare a run on the project at `root`: call this before Prefect is imported, and the result before the run.

    The server is the one that `PREFECT_API_URL` names, or that of `make up`, or a temporary one.
    """
    # Prefect's console log is silenced: the script prints what a person wants to see, the rest is in the run's log.
    os.environ.update(quiet_environment(root), PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="CRITICAL")
    begin_early(root)
    known = os.environ.get("PREFECT_API_URL") or prefect_api(root)
    if known:
        os.environ["PREFECT_API_URL"] = known
        return lambda: None
    server = TemporaryServer(root)
    os.environ["PREFECT_API_URL"] = server.api
    # Registered last, called first: Prefect's own handlers at exit run before this.
    atexit.register(server.end)
    return server.wait


class TemporaryServer:
    """A Prefect server that starts when this is made and lasts no longer than this process."""

    def __init__(self, root: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.api = f"http://127.0.0.1:{port}/api"
        self._log = state_folder(root) / "logs" / "temporary-prefect.log"
        self._log.parent.mkdir(exist_ok=True)
        # The same command as Prefect's own temporary server: no UI, and only the services that one run needs.
        app = "mediarank.ops.services.prefect_app:create_app"
        serve = ("uvicorn", "--factory", app, "--host", "127.0.0.1", "--port", port)
        kind = {"PREFECT__SERVER_EPHEMERAL": "1", "PREFECT_UI_ENABLED": "0", HOSTS: f"127.0.0.1:{port}"}
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mediarank.ops.runs.tied_process", str(GRACE), sys.executable, "-m", *serve],
                env={**child_environment(root), **kind},
                cwd=root,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Return when it answers."""
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                from mediarank.types import MediarankError

                words = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
                raise MediarankError(f"Prefect's temporary server does not answer. The end of {self._log}:\n{words}")
            time.sleep(0.1)

    def end(self) -> None:
        let_go(self._process)
        self._process.wait(GRACE + 5)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.api}/health", timeout=5) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)
        except OSError:
            return False
