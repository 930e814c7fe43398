"""A flow run in a terminal: one line when a stage begins and ends, then a table of their final states.

Only for scripts that run a flow themselves; a scheduled run is shown in the Prefect UI.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import State
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from rich.console import Console
from rich.table import Table
from rich.text import Text

import mediarank

PACKAGE = Path(mediarank.__file__).parent
COLOURS = {"Cached": "blue", "Completed": "green", "Failed": "red", "Crashed": "red"}


def run_once(flow: Callable[..., Any]) -> int:
    """Run the flow and print its stages and their states; returns exit code 0 if all is up to date, otherwise 1."""
    console = Console(stderr=True, highlight=False)
    log, progress = logging.getLogger("prefect.flow_runs"), _Progress(console)
    log.addHandler(progress)
    # Prefect restores the earlier handler of SIGTERM, which would end the process at once; exit in order instead.
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        # Heartbeats show a server that a remote run is alive; here they would only delay the end by up to a second.
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            state: State[Any] = flow(return_state=True)
    except KeyboardInterrupt:
        console.print("Stopped. Finished stages are kept; run it again to go on.")
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
        log.removeHandler(progress)
    names = state.result(raise_on_failure=False)
    if isinstance(names, dict):
        table = Table.grid(padding=(0, 2))
        for stage, name in names.items():
            table.add_row(Text(stage), Text(name, style=COLOURS.get(name, "yellow")))
        Console(highlight=False).print(table)
    console.print(state.message or str(names), markup=False)
    return 0 if state.is_completed() else 1


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


class _Progress(logging.Handler):
    """Prints the log of mediarank's own code about the stages, without Prefect's log about itself."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        # The folder of the package, not its name: a clone may be named mediarank, with Prefect in its .venv.
        if Path(record.pathname).is_relative_to(PACKAGE):
            self._console.print(record.getMessage(), markup=False)
