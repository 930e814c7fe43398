"""The processes of one run: started in groups of their own, heard line by line, ended together.

`Children.slot` waits for a turn; `Children.run` runs a command under a guard (see `guard.py`) and passes on what it
prints. Leaving the `with` block,
for whatever reason, ends every command that still runs, with everything it started.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mediarank.ops.services.environment import child_environment

GRACE = 10.0
"""Seconds between asking a group to end and killing it; Prefect gives a cancelled run 30 in all."""


class RunStopped(Exception):
    """The run is being ended; nothing more is started in it."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, the last lines it printed, and whether it ran out of time."""

    code: int
    lines: tuple[str, ...]
    out_of_time: bool = False


class Children:
    """The commands of one run.

    parallel : how many may run at a time; asked when the first one is to be run
    hold : an open file that every guard holds too, such as the run's lock: it is free when the last one is gone
    """

    def __init__(self, root: Path, parallel: Callable[[], int], hold: int | None = None, grace: float = GRACE) -> None:
        self._root = root
        self._hold = () if hold is None else (hold,)
        self._grace = grace
        self._parallel = parallel
        self._slots: threading.Semaphore | None = None
        self._mutex = threading.Lock()
        self._stopped = False
        self._running: set[subprocess.Popen[str]] = set()

    @contextlib.contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for one's turn to run a command."""
        with self._mutex:
            slots = self._slots = self._slots or threading.Semaphore(self._parallel())
        while not slots.acquire(timeout=0.2):
            if self._stopped:
                raise RunStopped("The run was stopped before this command began.")
        try:
            yield
        finally:
            slots.release()

    def run(self, command: Sequence[str], say: Callable[[str], None], seconds: float) -> Ended:
        """Run `command` at the root; every line that it prints is said at once, and it is ended after `seconds`."""
        with self._start(command) as process:
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
                with self._mutex:
                    self._running.discard(process)
        if self._stopped:
            raise RunStopped("The run was stopped, and with it this command.")
        return Ended(code, tuple(lines), out_of_time.is_set())

    def stop(self) -> None:
        """End every command, and start no more."""
        with self._mutex:
            self._stopped = True
            running = list(self._running)
        for process in running:
            let_go(process)
        for process in running:
            try:
                process.wait(self._grace + 5)
            except subprocess.TimeoutExpired:
                process.kill()

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        with self._mutex:
            if self._stopped:
                raise RunStopped("The run was stopped before this command began.")
            process = subprocess.Popen(
                [sys.executable, "-m", "mediarank.ops.runs.tied_process", str(self._grace), *command],
                cwd=self._root,
                env=child_environment(self._root),
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


def let_go(process: subprocess.Popen[str]) -> None:
    """Close our end of the guard's standard input: the command is to end."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
