"""The command line: one command per stage, then what people ask for, one file per subject.

Imports are inside the commands, so that each pays for its own only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mediarank.cli import (  # noqa: F401 - their commands
    annotation,
    attributes,
    describing,
    events,
    finding,
    label,
    operations,
    overview,
    retrieval,
    running,
    stages,
    versions,
)
from mediarank.cli.app import app
from mediarank.ops.runs.unchanged_sources import steady_sources
from mediarank.types import MediarankError


def main() -> None:
    """Run a command; what we can explain is one message, without a traceback, and exit code 1."""
    try:
        with steady_sources(Path.cwd()):
            app()
    except MediarankError as error:
        print(f"mediarank: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        print(
            f"mediarank: {error.strerror}: {error.filename or ''}. Nothing was half-written; mend it and run again.",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
