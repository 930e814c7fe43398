"""Repair DVC's list of files that are being read and written, after a `kill -9`.

DVC rewrites `.dvc/tmp/rwlock` in place. If a process is killed at that moment, the file is left empty or half written,
and from then on every DVC command fails with "JSON structure is corrupted". DVC removes the entries of dead processes
itself, but it can't read a damaged list; there is nothing in it worth keeping, so it is removed, under its own lock.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Final

LISTED: Final = ".dvc/tmp/rwlock"
GUARD: Final = ".dvc/tmp/rwlock.lock"


def repair_rwlock(root: Path) -> bool:
    """Remove the list of the project at `root` if it can't be read; returns whether it was removed."""
    path = root / LISTED
    if _readable(path):
        return False
    with (root / GUARD).open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # wait for a process that is just writing it
        if _readable(path):
            return False
        path.unlink()
    return True


def _readable(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return True
    except ValueError:
        return False
    return True
