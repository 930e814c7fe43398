"""A run of the pipeline that was started from the explorer: through Prefect when `make up` has started it, else here.

One run at a time. The page shows its stages: the task runs that Prefect knows, or the last lines that were printed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mediarank.ops.services.access import authorization, prefect_access
from mediarank.ops.services.environment import child_environment
from mediarank.ops.services.processes import prefect_api
from mediarank.types import MediarankError

LINES: Final = 12
DEPLOYMENT: Final = "pipeline/nightly"
ENDED: Final = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass(frozen=True)
class State:
    """alive : whether a run goes on; lines : its stages, or what it printed last; code : how it ended, 0 is well

    address : of the run in Prefect's UI, if it runs there
    """

    alive: bool
    lines: tuple[str, ...]
    code: int | None
    address: str = ""


@dataclass
class Running:
    """The run of this explorer, if it started one."""

    _process: subprocess.Popen[str] | None = None
    _flow_run: str = ""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, root: Path) -> None:
        """Start the pipeline, as the deployment in Prefect or as `make run` does."""
        with self._lock:
            if self._state(root).alive:
                raise MediarankError("The pipeline is running already; its stages are shown on the page of versions.")
            self._lines.clear()
            self._process, self._flow_run = None, ""
            if api := prefect_api(root):
                found = _ask(root, f"{api}/deployments/name/{DEPLOYMENT}")
                asked = {"parameters": {"promote": False}}  # a person looks at it first; only the nightly run promotes
                made = _ask(root, f"{api}/deployments/{found['id']}/create_flow_run", asked)
                self._flow_run = str(made["id"])
                return
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mediarank", "run"],
                cwd=root,
                env=child_environment(root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            threading.Thread(target=self._follow, args=(self._process,), daemon=True).start()

    def state(self, root: Path) -> State:
        with self._lock:
            return self._state(root)

    def _state(self, root: Path) -> State:
        if self._flow_run:
            return _in_prefect(root, self._flow_run)
        code = None if self._process is None else self._process.poll()
        return State(self._process is not None and code is None, tuple(self._lines), code)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in process.stdout:
            if line.strip():
                self._lines.append(line.rstrip())
        process.wait()


def _in_prefect(root: Path, flow_run: str) -> State:
    api = prefect_api(root)
    if not api:
        return State(False, ("Prefect does not run any more; `make up` starts it.",), 1)
    state = str(_ask(root, f"{api}/flow_runs/{flow_run}")["state_type"])
    tasks = _ask(root, f"{api}/task_runs/filter", {"flow_runs": {"id": {"any_": [flow_run]}}, "limit": 200})
    lines = [f"{task['name']}: {str(task['state_name']).lower()}" for task in tasks]
    code = None if state not in ENDED else 0 if state == "COMPLETED" else 1
    address = f"{api.removesuffix('/api')}/runs/flow-run/{flow_run}"
    return State(code is None, (f"In Prefect: {state.lower()}", *sorted(lines)), code, address)


def _ask(root: Path, address: str, body: dict[str, Any] | None = None) -> Any:
    """What Prefect answers, as JSON."""
    headers = {"Content-Type": "application/json", **authorization(prefect_access(root))}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers)  # noqa: S310 - loopback, from our own records
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the same
            return json.load(answer)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise MediarankError(
            f"Prefect does not answer as expected ({error}). `make down` and `make up` help."
        ) from None


RUNNING = Running()
