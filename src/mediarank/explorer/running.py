"""A run of the pipeline that was started from the explorer: one at a time, its last lines kept for the page."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mediarank.ops.services.environment import child_environment
from mediarank.types import MediarankError

LINES: Final = 12


@dataclass(frozen=True)
class State:
    """alive : whether a run goes on; lines : what it printed last; code : how it ended"""

    alive: bool
    lines: tuple[str, ...]
    code: int | None


@dataclass
class Running:
    """The run of this explorer, if it started one."""

    _process: subprocess.Popen[str] | None = None
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, root: Path) -> None:
        """Start `mediarank run`, as `make run` does."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise MediarankError("The pipeline is running already; its stages are shown on the page of versions.")
            self._lines.clear()
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
        process = self._process
        code = None if process is None else process.poll()
        return State(process is not None and code is None, tuple(self._lines), code)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in process.stdout:
            if line.strip():
                self._lines.append(line.rstrip())
        process.wait()


RUNNING = Running()
