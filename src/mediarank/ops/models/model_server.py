"""Serve a champion over HTTP: `mlflow models serve` on loopback, in this environment.

MLflow would otherwise build an environment for the model; the current one already has everything it needs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mediarank.ops.models.model_registry import CHAMPION, Registry, model_name
from mediarank.ops.services.environment import child_environment
from mediarank.types import DataError

HOST = "127.0.0.1"


def command(system: str, port: int) -> list[str]:
    """The command that serves the champion of a system."""
    address = f"models:/{model_name(system)}@{CHAMPION}"
    where = ["--host", HOST, "--port", str(port), "--workers", "1"]
    return [sys.executable, "-m", "mlflow", "models", "serve", "-m", address, "--env-manager", "local", *where]


def environment(root: Path, uri: str) -> dict[str, str]:
    """Its variables: MLflow finds the model in the store, and `mlflow` starts uvicorn by its name."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**child_environment(root), "MLFLOW_TRACKING_URI": uri, "MLFLOW_REGISTRY_URI": uri, "PATH": path}


def serve(root: Path, system: str, port: int, uri: str | None = None) -> None:
    """Become the server of the system's champion; returns only on an error."""
    registry = Registry(root, uri)
    if registry.bearing(system, CHAMPION) is None:
        raise DataError(f"{system} has no champion to serve; mediarank promote makes one.")
    os.execvpe(sys.executable, command(system, port), environment(root, registry.uri))  # noqa: S606 - no shell
