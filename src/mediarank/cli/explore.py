"""Open the explorer, a local web page over the collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app


@app.command()
def explore(
    port: Annotated[int, typer.Option(min=1, max=65535, help="where it listens")] = 8765,
    host: Annotated[str, typer.Option(help="the address; any but loopback asks for a token")] = "127.0.0.1",
) -> None:
    """Open the explorer in this process: look, search, correct and teach in a browser."""
    import uvicorn

    from mediarank import config
    from mediarank.cli.opened import copying
    from mediarank.explorer.app import create_app
    from mediarank.explorer.doors import Doors
    from mediarank.types import MediarankError

    doors, originals = Doors(host, port), None
    try:
        originals = Path(config.load().collection.path)
    except MediarankError as error:  # pages still show what the last run wrote
        print(error)
    pages = create_app(Path.cwd(), doors, copying, originals=originals)
    print(f"The explorer: {doors.address}  (Ctrl+C ends it)")
    uvicorn.run(pages, host=host, port=port, log_level="warning", access_log=False)
