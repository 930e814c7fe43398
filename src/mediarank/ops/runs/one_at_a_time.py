"""One run per workspace at a time: a second one waits, and names the process it waits for."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from mediarank.disk import sweep_below
from mediarank.ops.services.environment import state_folder

FILE = "run.lock"


def take(root: Path) -> int | None:
    """Lock the workspace if it is free; returns the open file that holds the lock, or None."""
    handle = _open(root)
    if _try(handle):
        return handle
    os.close(handle)
    return None


@contextmanager
def one_run(root: Path, say: Callable[[str], None], held: int | None = None, pause: float = 0.5) -> Iterator[int]:
    """Hold the workspace for this run, waiting until it is free; yields the open file that holds it.

    held : the result of `take`, if this process already has the lock

    The lock is `flock`'s: it belongs to the open file, so it is released as soon as every process that has the file
    open has ended, however it ended. It never has to be removed by hand.
    """
    handle = _open(root) if held is None else held
    try:
        said = ""
        while not _try(handle):
            holder = _holder(handle)
            if holder != said:
                say(f"Another run has this workspace ({holder}); waiting until it ends.")
                said = holder
            time.sleep(pause)
        sweep_below(root / "data", depth=1)  # left by killed stages; no other process writes there now
        yield handle
    finally:
        os.close(handle)


def _open(root: Path) -> int:
    return os.open(state_folder(root) / FILE, os.O_RDWR | os.O_CREAT, 0o644)


def _try(handle: int) -> bool:
    """Lock the file if it is free, and write down the holder."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps({"pid": os.getpid(), "since": now}).encode(), 0)
    return True


def _holder(handle: int) -> str:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return f"process {found['pid']}, since {found['since']}"
    except (ValueError, KeyError, TypeError):  # it is being written
        return "it has just started"
