"""The command line: one command per stage, then commands for people, one file per subject.

Imports are inside the commands, so that each command loads only what it needs.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from pathlib import Path
from typing import Final, NoReturn

from mediarank.cli import (  # noqa: F401 - their commands
    annotation,
    attributes,
    collection,
    describing,
    events,
    explore,
    feedback,
    finding,
    init,
    label,
    learn,
    operations,
    overview,
    retrieval,
    running,
    stages,
    versions,
)
from mediarank.cli.app import DEBUG, app
from mediarank.disk import machine_fault
from mediarank.ops.runs.unchanged_sources import STAGE_VARIABLE, steady_sources
from mediarank.types import MediarankError

NEW_OBJECTS: Final = 50_000
"""How many there are before Python looks for cycles. At its default of 700, a stage over 100,000 items spends a tenth
of its time on that."""
NEW_IN_STAGE: Final = 1_000_000
"""The same in a stage, which ends soon: with 50,000, `collect` and `frames` still spend a sixth of their time on it."""


def main() -> None:
    """Run a command. An error that we can explain prints one message; no error prints a traceback without --debug."""
    gc.set_threshold(NEW_IN_STAGE if os.environ.get(STAGE_VARIABLE) else NEW_OBJECTS)
    try:
        with steady_sources(Path.cwd()):
            app()
    except MediarankError as error:
        _leave(str(error), 1)
    except OSError as error:
        known = machine_fault(error) or f"{error.strerror}: {error.filename or ''}. Fix it and run it again."
        _leave(f"{known} What was there before is unchanged.", 1)
    except Exception as error:
        _leave(f"{type(error).__name__}: {error}. This is a bug of mediarank; --debug shows where.", 3)


def _leave(message: str, code: int) -> NoReturn:
    """End with a message; with --debug, with the traceback of the error that is being handled, too."""
    if os.environ.get(DEBUG):
        traceback.print_exc()
    print(f"mediarank: {message}", file=sys.stderr)
    raise SystemExit(code) from None
