"""Fingerprints of a source's files: each file is read once, and again only if its length or time has changed.

What is known is kept in one table in `.mediarank/cache`. A file that was changed within the last seconds is not kept: a
second change could leave the same time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import pandas as pd

from mediarank import store
from mediarank.collections.containment import RealPaths
from mediarank.fanout import with_progress
from mediarank.media.faults import blame_machine
from mediarank.media.files import sha256_of
from mediarank.types import MediarankError

FILE: Final = "fingerprints.parquet"
FRESH_SECONDS: Final = 3.0
_STEP: Final = 256
_COLUMNS: Final = ("path", "length", "time", "inode", "sha256")


class Fingerprints:
    """The fingerprints known in a cache folder."""

    def __init__(self, cache: Path) -> None:
        self._file = cache / FILE
        self._known: dict[str, tuple[int, int, int, str]] = {}
        if self._file.exists():
            with suppress(MediarankError):  # a damaged table only costs time
                table = store.read_table(self._file)
                columns = (table[name].tolist() for name in _COLUMNS)
                self._known = {path: tuple(rest) for path, *rest in zip(*columns, strict=True)}

    def of(self, files: Mapping[str, Path]) -> Iterator[tuple[str, Path, int, str]]:
        """(item, file, length, sha256) of each file, by item; sha256 is empty if the file can't be read."""
        items = sorted(files)
        steps = [items[start : start + _STEP] for start in range(0, len(items), _STEP)]
        began, found, real_path = time.time(), {}, RealPaths()
        for step in with_progress(steps, [len(step) for step in steps], "fingerprints"):
            for item in step:
                path = real_path(files[item])
                try:
                    row = self._row(path)
                except OSError as error:
                    blame_machine(error)
                    yield item, files[item], 0, ""
                    continue
                if row[1] < (began - FRESH_SECONDS) * 1e9:
                    found[path] = row
                yield item, files[item], row[0], row[3]
        if found != self._known:
            rows = [(path, *row) for path, row in sorted(found.items())]
            with suppress(OSError):  # the cache may be full or not writable
                store.write_table(self._file, pd.DataFrame(rows, columns=list(_COLUMNS)))

    def _row(self, path: str) -> tuple[int, int, int, str]:
        state = os.stat(path)  # noqa: PTH116  # once per file of a collection
        now = (state.st_size, state.st_mtime_ns, state.st_ino)
        known = self._known.get(path)
        return known if known is not None and known[:3] == now else (*now, sha256_of(Path(path)))
