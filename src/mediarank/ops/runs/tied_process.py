"""Run one command that must not outlive its owner: `python -m mediarank.ops.runs.tied_process GRACE COMMAND...`.

The owner holds the other end of our standard input. When that closes, because the owner wants the command ended or
because the owner itself was killed, the command's whole process group gets SIGTERM and, GRACE seconds later,
SIGKILL. No signal handler of the owner is needed, so this works after `kill -9` too. Only the standard library is
imported: a guard starts in a few hundredths of a second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path


def guard(command: Sequence[str], grace: float) -> int:
    """Run `command` in a session of its own; its exit code, or 128 + the signal that ended it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    group = child.pid

    def end(*_: object) -> None:
        _signal(group, signal.SIGTERM)
        killer = threading.Timer(grace, _signal, (group, signal.SIGKILL))
        killer.daemon = True
        killer.start()

    def watch_owner() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        end()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    threading.Thread(target=watch_owner, daemon=True).start()
    code = child.wait()
    # Nothing that the command started stays behind, whether it did well or not.
    end()
    deadline = time.monotonic() + grace + 1
    while _lives(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    return code if code >= 0 else 128 - code


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group; whether the group exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says this of a group of zombies
        return False
    return True


def _lives(group: int) -> bool:
    """Whether anyone in the group does more than wait to be buried, which may take whoever adopted it a while."""
    if not _signal(group, 0):
        return False
    if not Path("/proc/self/stat").exists():
        return True
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state parent group ...; the name may hold anything, blanks and brackets too
            state, _, its_group = process.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # gone meanwhile
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


if __name__ == "__main__":
    sys.exit(guard(sys.argv[2:], float(sys.argv[1])))
