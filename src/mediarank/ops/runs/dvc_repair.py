"""DVC's list of what is being read and written, mended after a `kill -9`.

DVC rewrites `.dvc/tmp/rwlock` in place. A process that is killed in that instant leaves half of it, or nothing, and
every DVC command stops at it from then on ("JSON structure is corrupted"). Entries of processes that are gone DVC
removes itself; a list that can't be read says nothing worth keeping, so it is removed, under the lock that guards it.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Final

LISTED: Final = ".dvc/tmp/rwlock"
GUARD: Final = ".dvc/tmp/rwlock.lock"


def mend_dvc_lock(root: Path) -> bool:
    """Remove the list of a project if it can't be read; whether that was so."""
    path = root / LISTED
    if _readable(path):
        return False
    with (root / GUARD).open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # whoever is just writing it is waited for
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
