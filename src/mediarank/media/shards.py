"""Many small files in a few large ones: the only module that knows how originals and working copies are stored.

A folder holds shards of about 64 MB and an index. A shard is a tar archive, so that any program can unpack it; the
index says for each file in which shard it is, where, how long, and its fingerprint. Files are stored in the order of
items. Where a shard ends depends only on the content of the files in it, so that new files change the shards around
them and no others, and a shard's name follows from its content, so that an unchanged one is the same file in
every version (docs/decisions/0014-media-in-shards.md).

`ShardWriter` writes such a folder, `Media` reads one. `Media` also reads a folder of plain files without an index, as
versions from before had.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple, Self

import pandas as pd

from mediarank import store
from mediarank.media.files import File, Held, Slice, place_of
from mediarank.types import DataError

INDEX: Final = "index.parquet"
ENDING: Final = ".tar"
COLUMNS: Final = ("path", "shard", "offset", "length", "sha256", "origin")
_BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(2 * _BLOCK)
_PART: Final = "unfinished"


@dataclass(frozen=True)
class Cuts:
    """Where shards end, in bytes: on average at `least + mean`.

    least : a shard has at least this many, unless it is the last one or a larger file follows
    mean : after that, a file ends its shard with a probability of its length / mean, drawn by its fingerprint
    most : a shard has at most this many; a file longer than `least + mean` has a shard of its own
    """

    least: int = 16 << 20
    mean: int = 48 << 20
    most: int = 192 << 20

    def alone(self, length: int) -> bool:
        return length > self.least + self.mean

    def after(self, size: int, length: int, sha256: str) -> bool:
        """Whether a shard of this size ends after the file with this length and fingerprint."""
        return size >= self.least and int(sha256[:16], 16) / 2**64 < length / self.mean


@dataclass(frozen=True)
class Deferred:
    """A file to be stored whose bytes are fetched when its shard is written; never, if the shard is there already.

    contents : has them by name
    """

    name: str
    contents: Mapping[str, bytes]

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        return io.BytesIO(self.contents[self.name])

    def __str__(self) -> str:
        return self.name


class _Entry(NamedTuple):
    path: str
    file: File | Deferred
    length: int
    sha256: str
    origin: str
    start: int


class ShardWriter:
    """Writes files into shards below an empty folder. Call `add` in the order of items; leaving it writes the index.

    finished : name of a shard -> a file that already holds it, or None
    """

    def __init__(
        self, folder: Path, cuts: Cuts | None = None, finished: Callable[[str], Path | None] = lambda _: None
    ) -> None:
        self._folder, self._cuts, self._finished = folder, cuts or Cuts(), finished
        self._rows: list[tuple[str, str, int, int, str, str]] = []
        self._open: list[_Entry] = []  # the files of the shard that is not finished
        self._size = 0
        self._known: set[str] = set()

    def add(self, path: str, file: File | Deferred, length: int, sha256: str, origin: str = "") -> None:
        """Add a file; its content is read when its shard is complete.

        origin : where the source has it, relative to the source's folder
        """
        if path in self._known:
            raise DataError(f"{path!r} is stored twice; paths must differ.")
        self._known.add(path)
        before = _header_length(path, length)
        stored = before + _padded(length)
        alone = self._cuts.alone(length)
        if self._open and (alone or self._size + stored > self._cuts.most):
            self._finish()
        self._open.append(_Entry(path, file, length, sha256, origin, self._size + before))
        self._size += stored
        if alone or self._cuts.after(self._size, stored, sha256):
            self._finish()

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
            store.write_table(self._folder / INDEX, pd.DataFrame(self._rows, columns=list(COLUMNS)))

    def _finish(self) -> None:
        if not self._open:
            return
        listed = "".join(f"{entry.path}\0{entry.length}\0{entry.sha256}\n" for entry in self._open)
        name = hashlib.sha256(listed.encode()).hexdigest()[:32] + ENDING
        self._rows += [(e.path, name, e.start, e.length, e.sha256, e.origin) for e in self._open]
        kept = self._finished(name)
        if kept is None or kept.stat().st_size != self._size + len(_END) or not _linked(kept, self._folder / name):
            self._write(self._folder / name)
        self._open, self._size = [], 0

    def _write(self, target: Path) -> None:
        part = target.with_name(_PART)
        with part.open("wb") as shard:
            for entry in self._open:
                shard.write(_header(entry.path, entry.length))
                _copy(entry.file, entry.length, entry.sha256, shard)
                shard.write(bytes(_padded(entry.length) - entry.length))
            shard.write(_END)
        part.rename(target)


class Media(Mapping[str, File]):
    """The files below a folder, by path: shards with an index, or plain files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index: pd.DataFrame | None = store.read_table(folder / INDEX) if (folder / INDEX).exists() else None
        if self._index is not None:
            paths, *self._columns = (self._index[name].tolist() for name in COLUMNS[:-1])
            self._row: dict[str, int] = dict(zip(paths, range(len(paths)), strict=True))
            self._places = {name: folder / name for name in set(self._columns[0])}

    def __getitem__(self, path: str) -> File:
        if self._index is None:
            return self.folder / path
        try:
            row = self._row[path]
        except KeyError:
            raise DataError(f"{path} is not in {self.folder}. Run `dvc checkout`.") from None
        shards, offsets, lengths, fingerprints = self._columns
        return Slice(path, self._places[shards[row]], offsets[row], lengths[row], fingerprints[row])

    def __contains__(self, path: object) -> bool:
        if self._index is None:
            return isinstance(path, str) and (self.folder / path).is_file()
        return path in self._row

    def __iter__(self) -> Iterator[str]:
        if self._index is not None:
            return iter(self._row)
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return iter(sorted(path.relative_to(self.folder).as_posix() for path in files))

    def __len__(self) -> int:
        return len(self._row) if self._index is not None else sum(1 for _ in self)

    def places(self, paths: Iterable[str]) -> set[Path]:
        """The files on disk that hold the content; of all paths, if they are in shards."""
        if self._index is not None:
            return set(self._places.values())
        return {place for path in paths if (place := place_of(self[path]))}

    def origin(self, path: str) -> str:
        """Where the source has a file, relative to the source's folder; empty if it was generated."""
        return self._origins.get(path, "") if self._index is not None else path

    def at_origin(self, origin: str) -> str | None:
        """The file that the source has at this path, relative to the source's folder."""
        if self._index is None:
            return origin
        return next((path for path, one in self._origins.items() if one == origin), None)

    @cached_property
    def _origins(self) -> dict[str, str]:
        """path -> where the source has it; empty for a folder of plain files."""
        return {} if self._index is None else dict(zip(self._row, self._index[COLUMNS[-1]].tolist(), strict=True))


def listed(content: Any, column: str) -> dict[str, str]:
    """path -> a column of an index (`sha256`, `shard`) that is open as a binary file."""
    table = pd.read_parquet(content, columns=["path", column])
    return dict(zip(table["path"], table[column], strict=True))


def _is_usual(path: str, length: int) -> bool:
    return path.isascii() and len(path) <= tarfile.LENGTH_NAME and length < 8**11


def _header_length(path: str, length: int) -> int:
    return _BLOCK if _is_usual(path, length) else len(_header(path, length))


def _header(path: str, length: int) -> bytes:
    """A tar header that depends on nothing but the path and the length."""
    if _is_usual(path, length):
        return _usual_header(path.encode(), length)
    entry = tarfile.TarInfo(path)
    entry.size = length
    return entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _usual_header(path: bytes, length: int) -> bytes:
    """The same as tarfile makes for a short ASCII path, ten times as fast."""
    rest = b"%011o\x00%s\x00" % (length, b"0" * 11)
    before = path.ljust(tarfile.LENGTH_NAME, b"\x00") + b"0000644\x000000000\x000000000\x00" + rest
    after = (b"0" + bytes(tarfile.LENGTH_LINK) + tarfile.POSIX_MAGIC).ljust(tarfile.BLOCKSIZE - 156, b"\x00")
    total = 8 * ord(" ") + sum(before) + sum(after)
    return before + b"%06o\x00 " % total + after


def _padded(length: int) -> int:
    return -(-length // _BLOCK) * _BLOCK


def _copy(file: File | Deferred, length: int, sha256: str, shard: Any) -> None:
    """Append a file's content, and compare it with what it was said to be."""
    if isinstance(file, Held):
        shard.write(file.content)
        return
    digest, copied = hashlib.sha256(), 0
    with file.open("rb", buffering=0) as source:
        while block := source.read(1 << 20):
            digest.update(block)
            copied += len(block)
            shard.write(block)
    if copied != length or digest.hexdigest() != sha256:
        raise DataError(f"{file} changed while it was read. Run it again when it no longer changes.")


def _linked(kept: Path, target: Path) -> bool:
    try:
        os.link(kept, target)
    except OSError:
        return False
    return True
