"""The journal: what people said, as append-only text files that git tracks and merges.

Each author has one file per stream, below `labels/`: `journal/` holds labels, `feedback/` holds relevance. A writer
locks its file, writes whole lines in one call at the end and syncs them to disk. If a process was killed while it
wrote, the next writer begins on a fresh line, so half a line never touches another one. Damaged lines are skipped and
reported. Two versions of a file merge by keeping the lines of both (`merge=union` in .gitattributes); a statement that
then occurs twice counts once, by its id.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mediarank.teaching.statements import UNDO, Statement, decode, decode_all, encode, in_order, new_call, time_after
from mediarank.types import ConfigError, DataError

FOLDER: Final = Path("labels")
LABEL_STREAM: Final = "journal"
FEEDBACK_STREAM: Final = "feedback"
AUTHOR_VARIABLE: Final = "MEDIARANK_AUTHOR"
SUFFIX: Final = ".jsonl"
_TAIL: Final = 1 << 16


@dataclass(frozen=True)
class Damaged:
    """A line that can't be used. place : `file, line n`; reason : why"""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place} is damaged and was skipped: {self.reason}."


@dataclass(frozen=True)
class Read:
    """What a stream holds: statements in order, each once, and the lines that were skipped."""

    statements: tuple[Statement, ...]
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True)
class Journal:
    """One stream of statements. folder : such as `labels/journal`; made when first needed"""

    folder: Path

    def read(self) -> Read:
        """All statements of all authors, by time."""
        with without_collection():
            return self._read()

    def _read(self) -> Read:
        statements: list[Statement] = []
        damaged: list[Damaged] = []
        for path in self.files():
            lines = path.read_bytes().split(b"\n")
            whole = decode_all([line for line in lines if line.strip()])
            if whole is not None:
                statements += whole
                continue
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    statements.append(decode(line))
                except DataError as error:
                    damaged.append(Damaged(f"{path}, line {number}", str(error)))
        return Read(tuple(in_order(statements)), tuple(damaged))

    def files(self) -> list[Path]:
        """The files of all authors."""
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if path.is_file())

    def fingerprint(self) -> str:
        """Changes whenever a line is added or changed."""
        digest = hashlib.sha256()
        for path in self.files():
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def append(self, statements: Sequence[Statement]) -> list[Statement]:
        """Write the statements of one author; they are on disk when this returns.

        Returns them as written: a time that is not after the file's last one is moved behind it.
        """
        if not statements:
            return []
        authors = {statement.author for statement in statements}
        if len(authors) != 1:
            raise DataError(f"One call writes for one author, not for {len(authors)}.")
        path = self.folder / file_name(authors.pop())
        self.folder.mkdir(parents=True, exist_ok=True)
        while True:
            with _locked(path) as file:
                size = os.fstat(file).st_size
                tail = os.pread(file, _TAIL, max(0, size - _TAIL))
                written = list(_with_rising_times(statements, _last_time(tail)))
                fresh = b"\n" if tail and not tail.endswith(b"\n") else b""
                _write(file, fresh + b"".join(map(encode, written)), size)
                if not size:
                    _sync_folder(self.folder)
                if _same_file(file, path):
                    return written
            # git replaced the file while we wrote to the old one: write again. By id, it counts once.


def statements_of_call(
    author: str, origin: str, rows: Iterable[dict[str, Any]], call: str | None = None, after: str = ""
) -> list[Statement]:
    """Statements that belong to one call, with ids and times.

    rows : the other fields of each statement; after : a time that these must come after
    """
    call, time = call or new_call(), time_after(after)
    return [
        Statement(id=f"{call}.{number}", time=time, author=author, origin=origin, **row)
        for number, row in enumerate(rows)
    ]


def undo_rows(targets: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a call that takes statements back. targets : ids, or first parts of ids"""
    return [{"kind": UNDO, "item": "", "sha256": "", "name": target, "value": None} for target in targets]


def current_author(folder: Path = Path()) -> str:
    """Who speaks: MEDIARANK_AUTHOR, or else git's user.name."""
    named = os.environ.get(AUTHOR_VARIABLE, "").strip()
    if not named:
        with suppress(OSError):
            asked = subprocess.run(["git", "config", "user.name"], cwd=folder, capture_output=True, check=False)
            named = asked.stdout.decode(errors="replace").strip()
    if not named:
        raise ConfigError(
            f"The author of a statement is unknown. Set {AUTHOR_VARIABLE}, or run `git config user.name 'Your Name'`."
        )
    return " ".join(named.split())


def file_name(author: str) -> str:
    """The file of an author: readable, safe as a name, and different for different authors."""
    plain = re.sub(r"[^a-z0-9]+", "-", author.lower()).strip("-")[:40]
    return f"{plain or 'author'}-{hashlib.sha256(author.encode()).hexdigest()[:6]}{SUFFIX}"


def _with_rising_times(statements: Sequence[Statement], last: str) -> Iterator[Statement]:
    for statement in statements:
        if statement.time <= last:
            statement = replace(statement, time=time_after(last))
        last = statement.time
        yield statement


def _last_time(tail: bytes) -> str:
    """The time of the last whole statement in the end of a file."""
    for line in reversed(tail.split(b"\n")):
        with suppress(DataError):
            return decode(line).time
    return ""


def _write(file: int, content: bytes, size: int) -> None:
    """Append all of the content, or nothing. size : of the file before"""
    try:
        written = 0
        while written < len(content):
            written += os.write(file, content[written:])
        os.fsync(file)
    except OSError:
        with suppress(OSError):  # a full disk: take the part that was written away again
            os.ftruncate(file, size)
        raise


@contextmanager
def without_collection() -> Iterator[None]:
    """Without Python's search for cycles, which takes half of the time where many small objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file at `path`, opened to append, with no other writer in it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _same_file(file, path):
                yield file
                return
        finally:
            os.close(file)


def _same_file(file: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(file)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
