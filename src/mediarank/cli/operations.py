"""Commands for operations: tracking, services, champions and ranking of new files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank.cli.app import app, console
from mediarank.cli.json_output import Json, print_json

if TYPE_CHECKING:
    from mediarank.asking.describe import Copying
    from mediarank.ops.models.promotion_config import PromotionConfig


@app.command()
def track() -> None:
    """Record this version's results in MLflow; a version is recorded once."""
    from mediarank.ops.runs.tracking import track as run

    print(run(Path.cwd()).summary())


@app.command()
def up() -> None:
    """Start the Prefect server with its schedule and the MLflow UI, on loopback."""
    from mediarank.ops.services import local as services

    services.up(Path.cwd())


@app.command()
def down() -> None:
    """Stop what `mediarank up` started."""
    from mediarank.ops.services import local as services

    services.down(Path.cwd())


@app.command()
def promote(
    system: Annotated[str | None, typer.Argument(help="only this system; by default all that can be served")] = None,
    force: Annotated[bool, typer.Option(help="promote models that are worse or can't be compared, too")] = False,
    scheduled: Annotated[
        bool, typer.Option(help="for unattended runs: keep the champion if drift is too large")
    ] = False,
) -> None:
    """Make this version's models champions, unless they are significantly worse."""
    from mediarank.ops.models.promotion import promote as run

    run(Path.cwd(), *_promotion(), systems=[system] if system else (), scheduled=scheduled, force=force)


@app.command()
def champions(json: Json = False) -> None:
    """List the registered versions of each system, with champion and challenger."""
    from rich.table import Table

    from mediarank.ops.models.model_registry import Registry, model_name
    from mediarank.systems.registry import SYSTEMS

    registry = Registry(Path.cwd())
    registered = {system: found for system in SYSTEMS if (found := registry.versions(system))}
    if json:
        print_json(registered)
        return
    for system, versions in registered.items():
        view = Table("version", "alias", "method", "dvc.lock", "run", title=model_name(system), title_justify="left")
        for version in versions:
            view.add_row(version.number, ", ".join(version.aliases), version.method, version.lock[:9], version.run)
        console().print(view)
    if not registered:
        print("No model is registered yet; mediarank promote does that.")


@app.command()
def drift(
    system: Annotated[str, typer.Argument(help="the system whose champion is compared")] = "retrieval",
    json: Json = False,
) -> None:
    """Show what has drifted since the champion's version, and what exceeds the limits."""
    from rich.table import Table

    from mediarank.ops.models.promotion import champion_drift

    champion, moved = champion_drift(Path.cwd(), system, _promotion()[1])
    if json:
        print_json({"champion": champion, "moved": moved})
        return
    title = f"{system}: this version against version {champion.number}, the champion"
    view = Table("what", "measure", "moved", "limit", "most", title=title, title_justify="left")
    for m in moved:
        view.add_row(
            m.what, m.measure, f"{m.value:.3g}", f"{m.limit:g}", m.detail, style="bold red" if m.too_far else None
        )
    console().print(view)


@app.command()
def ingest() -> None:
    """Rank files that the champions have not seen; `dvc repro frames` first makes their working copies."""
    from mediarank.ops.models.ingest import ingest as run

    run(Path.cwd())


@app.command()
def serve(
    system: Annotated[str, typer.Argument(help="whose champion")] = "retrieval",
    port: Annotated[int, typer.Option(help="on loopback")] = 5001,
) -> None:
    """Serve a champion over HTTP, on loopback; docs/operations.md shows how to ask it."""
    from mediarank.ops.models.model_server import serve as run

    run(Path.cwd(), system, port)


def _promotion() -> tuple[Copying, PromotionConfig]:
    """How this version's models are packed, and what they must achieve."""
    from mediarank import config
    from mediarank.cli.opened import copying

    return copying(), config.load().promotion
