"""Become the server of a champion: find its files in the registry, and replace this process by `model_app`.

The server is a fresh process, without MLflow in its memory.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mediarank.ops.models.model_registry import CHAMPION, Registry
from mediarank.ops.services.environment import child_environment
from mediarank.types import DataError


def command(packed: Path, digest: str, port: int) -> list[str]:
    """What serves a packed model."""
    return [sys.executable, "-m", "mediarank.ops.models.model_app", str(packed), digest, str(port)]


def serve(root: Path, system: str, port: int, uri: str | None = None) -> None:
    """Become the server of the system's champion; returns only by an error."""
    registry = Registry(root, uri)
    champion = registry.bearing(system, CHAMPION)
    if champion is None:
        raise DataError(f"{system} has no champion to serve; mediarank promote makes one.")
    served = command(registry.verified(champion), champion.digest, port)
    os.execve(sys.executable, served, child_environment(root))  # noqa: S606 - no shell
