"""Commands of operations: tracking and services."""

from __future__ import annotations

from pathlib import Path

from mediarank.cli.app import app


@app.command()
def track() -> None:
    """Record this version's results in MLflow; a version is recorded once."""
    from mediarank.ops.tracking import track as run

    print(run(Path.cwd()).summary())


@app.command()
def up() -> None:
    """Start the Prefect server with its schedule and the MLflow UI, on loopback."""
    from mediarank.ops import services

    services.up(Path.cwd())


@app.command()
def down() -> None:
    """Stop what `mediarank up` started."""
    from mediarank.ops import services

    services.down(Path.cwd())
