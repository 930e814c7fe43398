"""The processes of one run: each in its own process group, read line by line, ended together.

`Children.slot` waits for a free place; `Children.run` runs a command under a guard (`tied_process.py`) and passes on
its output. Leaving the `with` block, for whatever reason, ends every command that still runs, with all processes that
it started.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mediarank.ops.runs.warm_start import WarmProcess, WarmStart, possible
from mediarank.ops.services.environment import child_environment

GRACE = 10.0
"""Seconds between asking a group to end and killing it; Prefect gives a cancelled run 30 in all."""

PLAIN = re.compile(r"[\w./@ -]+", re.ASCII)
"""Words that a shell leaves unchanged."""
WITHOUT_SETTINGS = {"bash": ("--noprofile", "--norc"), "zsh": ("--no-rcs",)}
"""Options with which DVC starts a shell, so that the user's settings do not change what a stage does."""

Process = subprocess.Popen[str] | WarmProcess


class RunStopped(Exception):
    """The run is being stopped; no more commands are started."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, the last lines it printed, and whether it ran out of time."""

    code: int
    lines: tuple[str, ...]
    out_of_time: bool = False


class Children:
    """The commands of one run.

    parallel : how many may run at a time; called when the first one starts
    hold : an open file that every guard keeps open too, such as the run's lock; it is released with the last guard
    grace : seconds between asking a command to end and killing it
    """

    def __init__(self, root: Path, parallel: Callable[[], int], hold: int | None = None, grace: float = GRACE) -> None:
        self._root = root
        self._hold = () if hold is None else (hold,)
        self._grace = grace
        self._parallel = parallel
        self._warm: WarmStart | None = None
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int]] = []
        self._numbers = itertools.count()
        self._inside = 0
        self._closed = False
        self._stopped = False
        self._running: set[Process] = set()

    def warm_up(self) -> None:
        """Start importing the modules that mediarank's commands need, if possible in advance; see `warm_start.py`."""
        with self._changed:
            if self._warm is None and possible() and not self._stopped:
                self._warm = WarmStart(self._root, self._grace, self._hold)

    @contextlib.contextmanager
    def slot(self, urgency: float = 0.0) -> Iterator[int]:
        """Wait for a free place, the most urgent first; yields how many processes the command should use.

        If more commands wait than there are cores, each gets one core; a command that runs alone gets all of them.
        """
        places = self._parallel()
        with self._changed:
            turn = (-urgency, next(self._numbers))
            heapq.heappush(self._queue, turn)
            try:
                while self._inside >= places or self._queue[0] != turn:
                    if self._closed:
                        raise RunStopped("The run was stopped before this command began.")
                    self._changed.wait()
                share = max(1, places // (self._inside + len(self._queue)))
                self._inside += 1
            finally:
                self._queue.remove(turn)
                heapq.heapify(self._queue)
                self._changed.notify_all()
        try:
            yield share
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def run(
        self,
        command: Sequence[str],
        say: Callable[[str], None],
        seconds: float,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Ended:
        """Run `command`; every line of its output is passed on at once, and it is ended after `seconds`.

        variables : additions to its environment
        folder : where to run it, by default at the root
        """
        with self._start(command, variables or {}, folder or self._root) as process:
            out_of_time = threading.Event()

            def give_up() -> None:
                out_of_time.set()
                let_go(process)

            timer = threading.Timer(seconds, give_up)
            timer.daemon = True
            timer.start()
            lines: deque[str] = deque(maxlen=100)
            try:
                for text in filter(None, map(str.rstrip, process.stdout or ())):
                    lines.append(text)
                    say(text)
                code = process.wait()
            finally:
                timer.cancel()
                with self._changed:
                    self._running.discard(process)
        if self._stopped:
            raise RunStopped("The run was stopped, and with it this command.")
        return Ended(code, tuple(lines), out_of_time.is_set())

    def start_no_more(self) -> None:
        """Let running commands go on, and start no others."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def stop(self) -> None:
        """End every command, and start no others."""
        self.start_no_more()
        with self._changed:
            self._stopped = True
            running = list(self._running)
        for process in running:
            let_go(process)
        for process in running:
            try:
                process.wait(self._grace + 5)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._warm is not None:
            self._warm.close()

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, command: Sequence[str], variables: Mapping[str, str], folder: Path) -> Process:
        process: Process
        with self._changed:
            if self._stopped:
                raise RunStopped("The run was stopped before this command began.")
            if self._warm is not None and starts_warm(command):
                process = self._warm.start(command[2:], folder, variables)
            else:
                process = subprocess.Popen(
                    [sys.executable, "-m", "mediarank.ops.runs.tied_process", str(self._grace), *command],
                    cwd=folder,
                    env={**child_environment(self._root), **variables},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                    pass_fds=self._hold,
                )
            self._running.add(process)
            return process


def let_go(process: Process) -> None:
    """Close our end of the pipe that the command is tied to, which ends it."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def starts_warm(command: Sequence[str]) -> bool:
    """Whether it is a command of mediarank, which can be forked from a process that has imported its modules."""
    return tuple(command[:3]) == (sys.executable, "-m", "mediarank")


def shell_command(command: str, root: Path) -> tuple[str, ...]:
    """A line of dvc.yaml as arguments: through the user's shell, as DVC does it, unless the line needs no shell.

    `bin/mediarank` with plain words is replaced by the command that this script runs, so that it can start warm.
    """
    words = command.split()
    python = Path(os.environ.get("MEDIARANK_PYTHON") or root / ".venv/bin/python")
    # The folder is compared, not the file: a Python in another environment is often a link to the same file.
    ours = python.exists() and python.parent.samefile(Path(sys.executable).parent)
    if ours and words[:1] == ["bin/mediarank"] and PLAIN.fullmatch(command):
        return (sys.executable, "-m", "mediarank", *words[1:])
    shell = os.environ.get("SHELL") or "/bin/sh"
    return (shell, *WITHOUT_SETTINGS.get(Path(shell).name, ()), "-c", command)
