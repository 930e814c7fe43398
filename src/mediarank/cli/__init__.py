"""The command line: one command per stage, then commands for people, one file per subject.

Imports are inside the commands, so that each command loads only what it needs.
"""

from __future__ import annotations

import sys
from pathlib import Path

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
from mediarank.cli.app import app
from mediarank.disk import machine_fault
from mediarank.ops.runs.unchanged_sources import steady_sources
from mediarank.types import MediarankError


def main() -> None:
    """Run a command; an error that we can explain prints one message, no traceback, and exits with code 1."""
    try:
        with steady_sources(Path.cwd()):
            app()
    except MediarankError as error:
        print(f"mediarank: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        known = machine_fault(error) or f"{error.strerror}: {error.filename or ''}. Fix it and run it again."
        print(f"mediarank: {known} What was there before is unchanged.", file=sys.stderr)
        raise SystemExit(1) from None
