"""Facts of the files of a source: each file is read once, and again only if its length, time or inode has changed.

Such facts are the fingerprint, and whether a picture describes itself. What is known is kept in one table per kind of
fact, in `.mediarank/cache`. A file that was changed within the last seconds is not kept: a second change could leave
the same time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd

from mediarank import store
from mediarank.fanout import with_progress
from mediarank.media.faults import blame_machine
from mediarank.types import MediarankError

FRESH_SECONDS: Final = 3.0
_STEP: Final = 256
_COLUMNS: Final = ("path", "length", "time", "inode", "fact")

Fact = TypeVar("Fact")
State = tuple[int, int, int]
"""Length, time and inode."""


class FileFacts:
    """What is known of the files of a source. The state of a file is asked for once, for all its known facts.

    cache : the folder of the tables; None to keep nothing
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._states: dict[str, State] = {}

    def of(
        self, what: str, find: Callable[[Path], Fact], files: Sequence[Path], progress: bool = False
    ) -> Iterator[tuple[int, Fact] | None]:
        """Length and fact of each file, in order; None for a file that can't be read. Consume it to the end.

        what : the name of the facts, for the table and for the progress
        find : the fact of a file
        progress : whether to show it
        """
        table = self._cache / f"{what}.parquet" if self._cache else None
        known: dict[str, tuple[State, Fact]] = _kept(table) if table else {}
        steps = [files[start : start + _STEP] for start in range(0, len(files), _STEP)]
        began, found = time.time(), {}
        for step in with_progress(steps, [len(step) for step in steps], what) if progress else steps:
            for file in step:
                path = str(file)
                try:
                    row = self._row(path, known.get(path)) or (self._states[path], find(file))
                except OSError as error:
                    blame_machine(error)
                    yield None
                    continue
                (length, changed, _), fact = row
                if changed < (began - FRESH_SECONDS) * 1e9:
                    found[path] = row
                yield length, fact
        if table and found != known:
            rows = [(path, *state, fact) for path, (state, fact) in sorted(found.items())]
            with suppress(OSError):  # the cache may be full or not writable
                store.write_table(table, pd.DataFrame(rows, columns=list(_COLUMNS)))

    def _row(self, path: str, known: tuple[State, Fact] | None) -> tuple[State, Fact] | None:
        """The known state and fact of a file, or None if they must be read; then its state is that of now."""
        if known is None or self._states.get(path) != known[0]:
            state = os.stat(path)  # noqa: PTH116  # of a link, what it leads to
            self._states[path] = (state.st_size, state.st_mtime_ns, state.st_ino)
        return known if known is not None and self._states[path] == known[0] else None


def _kept(table: Path) -> dict[str, tuple[State, Any]]:
    """path -> state and fact, as a table has them; a damaged table only costs time."""
    with suppress(MediarankError):
        if table.exists():
            rows = store.read_table(table)
            if tuple(rows.columns) == _COLUMNS:
                paths, lengths, times, inodes, facts = (rows[name].tolist() for name in _COLUMNS)
                states = zip(lengths, times, inodes, strict=True)
                return dict(zip(paths, zip(states, facts, strict=True), strict=True))
    return {}
