"""A cache of results by content: what was computed once is not computed again.

A key is the hash of everything that decides a result, so an entry is never out of date, only unused. Stored in one
SQLite file in WAL mode: several processes may write at once, and a killed one leaves no half-written entry. Each entry
has a checksum of its key and content; an entry that does not match is dropped and computed again. The least recently
used entries are removed when the limit is exceeded.

Nothing depends on the cache: on a disk that is full or read-only, one warning is printed, existing entries are read,
and the rest is computed.
"""

from __future__ import annotations

import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import pandas as pd

Result = TypeVar("Result")

MEDIA_BYTES: Final = 20 << 30
"""Limit of the cache of headers and working copies."""
_PAGE = 16_384
_WAIT_S = 120.0
_STALE_S = 3600.0
"""Seconds between two updates of an entry's last use, so that a run that only reads hardly writes."""
_TOGETHER = 4096
"""Keys that are looked up by one query: SQLite sorts them, so that many share the pages of the index."""
_STRAY = 32
"""Entries in a row that nobody asked for, after which reading in the order of the file ends."""
_WORTH = 256
"""Entries that reading in the order of the file should find; otherwise the next keys are looked up."""
_PAGES_KB = 65_536
"""What a connection keeps of the file in memory: entries that are read together lie together, but not in one page."""
_ROOM = 0.9
"""Eviction continues to this share of the limit, so that not every new entry triggers it again."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, family TEXT NOT NULL, used REAL NOT NULL,
    checksum INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS payload (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON entry (used, length);
"""  # a separate table for payloads, so that updating a last use does not rewrite them


@dataclass(frozen=True)
class ContentCache:
    """A cache of bytes.

    folder : of the database; created when first needed
    limit : bytes to keep at most
    """

    file: ClassVar[str] = "contents.sqlite"
    folder: Path
    limit: int = 8 << 30

    @property
    def path(self) -> Path:
        return self.folder / self.file

    def read(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The contents of the keys that have an undamaged entry."""
        wanted = list(dict.fromkeys(keys))
        return self._with(lambda db: _read(db, wanted), {}) if wanted else {}

    def known(self, keys: Iterable[str]) -> set[str]:
        """Which keys have an entry; whether it is undamaged shows only in `read`."""
        wanted = list(dict.fromkeys(keys))
        return self._with(lambda db: _known(db, wanted), set()) if wanted else set()

    def write(self, family: str, contents: Mapping[str, bytes]) -> None:
        """Keep contents by key: all of them, or none if the process dies. Evict old entries beyond the limit.

        family : what they belong to, for `statistics`
        """
        if contents:
            self._with(lambda db: _write(db, family, contents, self.limit), None)

    def prune(self, limit: int = 0) -> int:
        """Evict the least recently used entries down to `limit` bytes, shrink the file; return their number."""

        def work(db: sqlite3.Connection) -> int:
            evicted = _evict(db, limit)
            db.executescript("PRAGMA incremental_vacuum;")  # as a script: `execute` would stop after one page
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return evicted

        return self._with(work, 0)

    def statistics(self) -> pd.DataFrame:
        """One row per family: family, entries, bytes, last_used (UTC)."""
        query = "SELECT family, COUNT(*), SUM(length), MAX(used) FROM entry GROUP BY family ORDER BY family"
        rows: list[tuple[str, int, int, float]] = self._with(lambda db: db.execute(query).fetchall(), [])
        table = pd.DataFrame(rows, columns=["family", "entries", "bytes", "last_used"])
        return table.assign(last_used=pd.to_datetime(table["last_used"], unit="s", utc=True))

    def _with(self, work: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """Do a batch of work, or return `otherwise` and warn; a damaged file is removed, and the cache starts empty."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None)) as db:
                _prepare(db)
                return work(db)
        except (sqlite3.OperationalError, OSError) as error:
            _warn(self.path, str(error))
        except sqlite3.DatabaseError:
            with suppress(OSError):
                for suffix in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            return otherwise
        try:
            # Existing entries can still be read; with `immutable` SQLite creates no files beside the database.
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True)) as db:
                return work(db)
        except (sqlite3.DatabaseError, OSError):
            return otherwise


@lru_cache(maxsize=16)
def _warn(path: Path, reason: str) -> None:
    """Warn once per reason."""
    print(
        f"warning: the cache {path} can't be written to ({reason}); everything is computed without it. Free disk "
        "space, or make the folder writable.",
        file=sys.stderr,
    )


def _prepare(db: sqlite3.Connection) -> None:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'by_use'").fetchone():
        db.execute(f"PRAGMA page_size = {_PAGE}")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        db.executescript(_SCHEMA)
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA journal_size_limit = 67108864")
    db.execute(f"PRAGMA cache_size = -{_PAGES_KB}")


def _read(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, bytes]:
    columns = "entry.id, used, checksum, length, data FROM entry LEFT JOIN payload USING (id)"
    found: dict[str, bytes] = {}
    used: list[int] = []
    broken: list[int] = []
    now = time.time()
    for key, entry, last, checksum, length, data in _rows(db, columns, keys):
        if data is None or len(data) != length or _checksum(key, data) != checksum:
            broken.append(entry)
            continue
        found[key.hex()] = data
        if now - last > _STALE_S:
            used.append(entry)
    if used or broken:
        with suppress(sqlite3.OperationalError), _transaction(db):  # a full disk does not make the contents wrong
            db.executemany("UPDATE entry SET used = ? WHERE id = ?", [(now, entry) for entry in used])
            _delete(db, broken)
    return found


def _known(db: sqlite3.Connection, keys: Sequence[str]) -> set[str]:
    return {row[0].hex() for row in _rows(db, "1 FROM entry", keys)}


def _rows(db: sqlite3.Connection, columns: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """(key, columns…) of the entries with these keys.

    What was written together lies together, and is mostly asked for together: from the entry of a key on, the file is
    read in its own order for as long as that finds more. Where it finds little, keys are looked up, many by one query.
    """
    in_order = f"SELECT key, {columns} WHERE entry.id >= (SELECT id FROM entry WHERE key = ?) ORDER BY entry.id"  # noqa: S608
    wanted = [bytes.fromhex(key) for key in keys]
    left, place = set(wanted), 0
    while place < len(wanted):
        if wanted[place] not in left:
            place += 1
            continue
        before, stray = len(left), 0
        with closing(db.execute(in_order, [wanted[place]])) as following:
            for row in following:
                if row[0] in left:
                    left.remove(row[0])
                    yield row
                    stray = 0
                elif (stray := stray + 1) >= _STRAY:
                    break
        if before - len(left) < _WORTH:
            some = [key for key in wanted[place : place + _TOGETHER] if key in left]
            yield from db.execute(f"SELECT key, {columns} WHERE key IN ({', '.join('?' * len(some))})", some)
            left.difference_update(some)
            place += _TOGETHER


def _write(db: sqlite3.Connection, family: str, contents: Mapping[str, bytes], limit: int) -> None:
    insert = (
        "INSERT INTO entry (key, family, used, checksum, length) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
        "SET used = excluded.used, checksum = excluded.checksum, length = excluded.length RETURNING id"
    )
    now = time.time()
    with _transaction(db):
        for key, data in contents.items():
            row = (bytes.fromhex(key), family, now, _checksum(bytes.fromhex(key), data), len(data))
            entry = db.execute(insert, row).fetchone()[0]
            db.execute("INSERT OR REPLACE INTO payload (id, data) VALUES (?, ?)", (entry, data))
    if _pages(db) > limit and _total(db) > limit:
        _evict(db, int(limit * _ROOM))


def _checksum(key: bytes, data: bytes) -> int:
    """Checksum of key and content together, so that a damaged index can't return a content under another key."""
    return zlib.crc32(data, zlib.crc32(key))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite itself rolls back when the disk is full
            db.execute("ROLLBACK")
        raise


def _pages(db: sqlite3.Connection) -> int:
    """Bytes of the whole file, which are more than those of the contents; does not depend on their number."""
    return int(db.execute("PRAGMA page_count").fetchone()[0]) * _PAGE


def _total(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COALESCE(SUM(length), 0) FROM entry").fetchone()[0])


def _evict(db: sqlite3.Connection, limit: int) -> int:
    """Delete the least recently used entries until the rest fits."""
    with _transaction(db):
        excess = _total(db) - limit
        leaving: list[int] = []
        for entry, length in db.execute("SELECT id, length FROM entry ORDER BY used, id"):
            if excess <= 0:
                break
            leaving.append(entry)
            excess -= length
        _delete(db, leaving)
    return len(leaving)


def _delete(db: sqlite3.Connection, entries: Iterable[int]) -> None:
    ids = [(entry,) for entry in entries]
    db.executemany("DELETE FROM entry WHERE id = ?", ids)
    db.executemany("DELETE FROM payload WHERE id = ?", ids)
