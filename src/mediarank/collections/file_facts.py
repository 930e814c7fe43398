"""A fact of each file of a source: each file is read once, and again only if its length, time or inode has changed.

Such facts are the fingerprint, and whether a picture describes itself. What is known is kept in one table per fact, in
`.mediarank/cache`. A file that was changed within the last seconds is not kept: a second change could leave the same
time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar

import pandas as pd

from mediarank import store
from mediarank.fanout import with_progress
from mediarank.media.faults import blame_machine
from mediarank.types import MediarankError

FRESH_SECONDS: Final = 3.0
_STEP: Final = 256
_COLUMNS: Final = ("path", "length", "time", "inode", "fact")

Fact = TypeVar("Fact")


class FileFacts(Generic[Fact]):
    """What is known of files.

    what : the name of the facts, for the table and for the progress
    find : the fact of a file
    cache : the folder of the table; None to keep nothing
    progress : whether to show it
    """

    def __init__(self, what: str, find: Callable[[Path], Fact], cache: Path | None, progress: bool = False) -> None:
        self._what, self._find, self._progress = what, find, progress
        self._file = cache / f"{what}.parquet" if cache else None
        self._known: dict[str, tuple[int, int, int, Fact]] = {}
        if self._file and self._file.exists():
            with suppress(MediarankError):  # a damaged table only costs time
                table = store.read_table(self._file)
                if tuple(table.columns) == _COLUMNS:
                    columns = (table[name].tolist() for name in _COLUMNS)
                    self._known = {path: tuple(rest) for path, *rest in zip(*columns, strict=True)}

    def of(self, files: Sequence[Path]) -> Iterator[tuple[int, Fact] | None]:
        """Length and fact of each file, in order; None for a file that can't be read. Consume it to the end."""
        steps = [files[start : start + _STEP] for start in range(0, len(files), _STEP)]
        began, found = time.time(), {}
        for step in with_progress(steps, [len(step) for step in steps], self._what) if self._progress else steps:
            for file in step:
                try:
                    row = self._row(file)
                except OSError as error:
                    blame_machine(error)
                    yield None
                    continue
                if row[1] < (began - FRESH_SECONDS) * 1e9:
                    found[str(file)] = row
                yield row[0], row[3]
        if self._file and found != self._known:
            rows = [(path, *row) for path, row in sorted(found.items())]
            with suppress(OSError):  # the cache may be full or not writable
                store.write_table(self._file, pd.DataFrame(rows, columns=list(_COLUMNS)))

    def _row(self, file: Path) -> tuple[int, int, int, Fact]:
        path = str(file)
        state = os.stat(path)  # noqa: PTH116  # once per file of a collection; of a link, what it leads to
        now = (state.st_size, state.st_mtime_ns, state.st_ino)
        known = self._known.get(path)
        return known if known is not None and known[:3] == now else (*now, self._find(file))
