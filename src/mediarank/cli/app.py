"""The program that commands are added to, and the folders that they work in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

DATA = Path("data")
CACHE = Path(".mediarank/cache")
BASELINE = Path("baseline")
JOURNAL = Path("labels/journal")
STAGES = "Stages (dvc repro runs them in order)"

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Rank image and video collections."
)


def console() -> Console:
    """A console for tables; brackets and colons in names from data are neither markup nor emoji."""
    from rich.console import Console

    return Console(markup=False, emoji=False)
