"""Wait for an event of another process or thread, as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE = 240.0
"""Seconds until a test gives up; less than the time that pytest gives it."""


def wait_for(condition: Callable[[], Found], seconds: float = PATIENCE) -> Found:
    """The first true value of `condition`."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {seconds:g} s"
        time.sleep(0.05)
    return found
