"""Run one command that must not outlive its owner: `python -m mediarank.ops.runs.tied_process GRACE COMMAND...`.

The owner holds the other end of this process's standard input. When that closes, because the owner wants the command
to end or because the owner was killed, the command's whole process group gets SIGTERM and, GRACE seconds later,
SIGKILL. The owner needs no signal handler for this, so it works after `kill -9` too. Only the standard library is
imported, so a guard starts in a few hundredths of a second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Protocol


class Child(Protocol):
    """A process that leads its own session; `wait` gives its exit code, or minus the signal that ended it."""

    @property
    def pid(self) -> int: ...

    def wait(self) -> int: ...


def guard(child: Child, grace: float, owner: int) -> int:
    """Wait for `child`, and end it when `owner` closes; returns its exit code, or 128 + the signal that ended it.

    grace : seconds between asking the child's process group to end and killing it
    owner : an open file whose other end the owner holds
    """
    group = child.pid

    def end(*_: object) -> None:
        _signal(group, signal.SIGTERM)
        killer = threading.Timer(grace, _signal, (group, signal.SIGKILL))
        killer.daemon = True
        killer.start()

    def watch_owner() -> None:
        while os.read(owner, 4096):
            pass
        end()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    threading.Thread(target=watch_owner, daemon=True).start()
    code = child.wait()
    # No process that the command started remains, whether it succeeded or failed.
    end()
    deadline = time.monotonic() + grace + 1
    while _lives(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    return code if code >= 0 else 128 - code


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group; returns whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says this of a group of zombies
        return False
    return True


def _lives(group: int) -> bool:
    """Whether the group has a process that is not a zombie; its parent may take a while to reap those."""
    if not _signal(group, 0):
        return False
    if not Path("/proc/self/stat").exists():
        return True
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state parent group ...; the name may hold anything, including blanks and brackets
            state, _, its_group = process.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


if __name__ == "__main__":
    process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True)
    sys.exit(guard(process, float(sys.argv[1]), sys.stdin.fileno()))
