"""The owner's side of the fork server: commands that start without importing the slow libraries again.

`WarmStart` starts the server (`fork_server.py`) and asks it for processes; a `WarmProcess` has the interface of a
`subprocess.Popen` under a guard. Linux only: elsewhere forking a process with loaded libraries is not safe.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mediarank.ops.services.environment import child_environment

NUMBA_TABLES: Final = "numba.core.registry:cpu_target.target_context.refresh"
"""Fills the tables that numba fills before it loads its first compiled function, a quarter of a second per process."""
MODULES: Final = (
    # In the order in which the stages need them, without those that only one stage imports: they would save nothing.
    *("numpy", "pandas", "pyarrow.parquet", "pyarrow.dataset", "yaml", "pydantic.fields", "pydantic.type_adapter"),
    *("typer", "joblib", "threadpoolctl", "cv2", "PIL.Image", "av", "scipy.sparse.csgraph", "great_expectations"),
    *("numba", NUMBA_TABLES, "scipy.ndimage", "scipy.optimize", "scipy.special"),
    *("sklearn.svm", "sklearn.linear_model", "sklearn.cluster", "sklearn.preprocessing", "sklearn.isotonic"),
)


def possible() -> bool:
    """Whether forking a process that has loaded libraries is safe here."""
    return sys.platform == "linux"


class WarmProcess:
    """A command that the server runs, and its guard.

    stdin : close it to end the command
    stdout : its output
    """

    def __init__(self, owner: int, output: int, status: int) -> None:
        self.stdin = os.fdopen(owner, "w")
        self.stdout = os.fdopen(output, "r", encoding="utf-8", errors="replace")
        self._status: int | None = status
        self._code = 128 + signal.SIGKILL
        self._mutex = threading.Lock()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, or 128 + the signal that ended it."""
        with self._mutex:
            if self._status is not None:
                if not select.select([self._status], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("a command of the fork server", timeout or 0)
                text = os.read(self._status, 16)
                self._code = int(text) if text else self._code  # empty if its guard was killed
                os.close(self._status)
                self._status = None
            return self._code

    def kill(self) -> None:
        """Only let go of it: its guard kills it."""
        with contextlib.suppress(OSError):
            self.stdin.close()

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.kill()
        self.wait()


class WarmStart:
    """A fork server for commands at `root`; it starts importing at once.

    grace : seconds between asking a command to end and killing it
    hold : an open file that the server and its guards hold too
    """

    def __init__(self, root: Path, grace: float, hold: Sequence[int] = ()) -> None:
        self._mutex = threading.Lock()
        self._channel, theirs = socket.socketpair()
        held = hold[0] if hold else -1
        with theirs:
            numbers = map(str, (theirs.fileno(), grace, held))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mediarank.ops.runs.fork_server", *numbers, *MODULES],
                cwd=root,
                env=child_environment(root),
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), *hold),
                start_new_session=True,
            )

    def start(self, command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> WarmProcess:
        """Run `python -m COMMAND` in `folder`, with these additions to its environment."""
        theirs, ours = [], []
        for end in range(3):  # output, exit code, and the pipe that the command is tied to
            read, write = os.pipe()
            ours.append(write if end == 2 else read)
            theirs.append(read if end == 2 else write)
        output, status, owner = ours
        request = {"command": list(command), "folder": str(folder), "variables": dict(variables)}
        try:
            with self._mutex:
                files = [theirs[0], theirs[2], theirs[1]]
                socket.send_fds(self._channel, [json.dumps(request).encode() + b"\n"], files)
                if not self._channel.recv(1):
                    raise OSError("the fork server has ended")
        except OSError:
            for file in ours:
                os.close(file)
            raise
        finally:
            for file in theirs:
                os.close(file)
        return WarmProcess(owner, output, status)

    def close(self) -> None:
        """Start no others; running commands are ended by letting go of each."""
        self._channel.close()
        try:
            self._process.wait(30)  # it may be importing
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
