"""The program that commands are added to, and the folders that they work in.

`Commands` adds examples to each command's help, shows on a terminal that a slow command is at work, and says what to do
now if no command is given.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from mediarank.cli.examples import EXAMPLES

if TYPE_CHECKING:
    from rich.console import Console

DATA = Path("data")
CACHE = Path(".mediarank/cache")
BASELINE = Path("baseline")
JOURNAL = Path("labels/journal")
STAGES = "Stages (dvc repro runs them in order)"
DEBUG: Final = "MEDIARANK_DEBUG"
SLOW: Final = frozenset(
    {
        *("annotate", "champions", "compare", "compare-runs", "describe", "drift", "duplicates", "export", "find"),
        *("fuse", "ingest", "learn", "lineage", "promote", "review", "search", "show", "sort", "track", "versions"),
    }
)
"""Commands that may take more than two seconds and have no progress bar of their own."""
CODES: Final = (
    "Exit codes: 0 done; 1 stopped, with a message that says why and what to do; 2 wrong usage; 3 a bug (--debug shows "
    "where); 130 interrupted."
)


class Commands(TyperGroup):
    """The commands, with examples in their help."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _add_examples(command, cmd_name)
        return command

    def invoke(self, ctx: Any) -> Any:
        name = ctx._protected_args[0] if getattr(ctx, "_protected_args", None) else ""
        with _at_work(name):
            return super().invoke(ctx)


def _add_examples(command: Any, name: str) -> None:
    for word, inner in getattr(command, "commands", {}).items():
        _add_examples(inner, f"{name} {word}")
    if name in EXAMPLES and not command.epilog:
        command.epilog = "Examples:\n\n" + "\n\n".join(f"mediarank {example}" for example in EXAMPLES[name])


def _at_work(name: str) -> AbstractContextManager[Any]:
    """On a terminal, a sign that the command is at work; lines that it prints appear above it."""
    if name not in SLOW or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"mediarank {name} …")


app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    help="Rank image and video collections. Without a command: what to do now.",
    epilog=CODES,
)


@app.callback()
def start(
    ctx: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="show where an error comes from")] = False,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"
    if ctx.invoked_subcommand is None:
        from mediarank.cli.next_steps import next_steps

        print(next_steps(Path.cwd()))


def console() -> Console:
    """A console for tables; brackets and colons in names from data are neither markup nor emoji."""
    from rich.console import Console

    return Console(markup=False, emoji=False)
