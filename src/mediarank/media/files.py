"""A file to decode, wherever its bytes are: on disk, inside a shard, or in memory.

Decoders take any of these. `Slice` and `Held` offer what decoders use of a path: `open`, `read_bytes` and `suffix`.
"""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

from mediarank.types import MachineFault


class Slice(NamedTuple):
    """A file inside a shard, which is our own copy.

    name : its own path, as people know it
    shard : the file that holds it
    offset, length : where it is in there, in bytes
    sha256 : of its content; compared when it is read as a whole, and by `check`
    """

    name: str
    shard: Path
    offset: int
    length: int
    sha256: str

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.name)[1]

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        raw = _Part(self)
        return raw if buffering == 0 else io.BufferedReader(raw)  # type: ignore[return-value]

    def read_bytes(self) -> bytes:
        """The content; MachineFault, which names the shard, if it is not what was stored."""
        with self.open(buffering=0) as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise self.damaged()
        return content

    def check(self) -> None:
        """Compare the content with its fingerprint, in constant memory: for decoders that read it piece by piece."""
        if sha256_of(self) != self.sha256:
            raise self.damaged()

    def damaged(self) -> MachineFault:
        """Of our own copy, so the run stops: the file that was collected is not to blame."""
        return MachineFault(
            f"{self.shard} is damaged where it holds {self.name}: run bin/mediarank verify. No file was quarantined."
        )

    def __str__(self) -> str:
        return f"{self.name} (in {self.shard})"


@dataclass(frozen=True)
class Held:
    """A file in memory."""

    name: str
    content: bytes

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.name)[1]

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        return io.BytesIO(self.content)

    def read_bytes(self) -> bytes:
        return self.content

    def __str__(self) -> str:
        return self.name


File = Path | Slice | Held


def place_of(file: File) -> Path | None:
    """The file on disk that holds the bytes; None for one in memory."""
    if isinstance(file, Slice):
        return file.shard
    return file if isinstance(file, Path) else None


def sha256_of(file: File) -> str:
    """Of a file of any size, in constant memory."""
    digest = hashlib.sha256()
    with file.open("rb", buffering=0) as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def undamaged(files: Iterable[File]) -> Iterator[bool]:
    """Whether each is in a shard, with the content that was stored; neighbours in one shard are read together."""
    with ExitStack() as stack:
        shard = None
        for file in files:
            intact = False
            if isinstance(file, Slice):
                with suppress(OSError):  # whoever opens it finds out what is wrong
                    if shard is None or file.shard != shard.path:
                        stack.close()
                        shard = None
                        shard = stack.enter_context(closing(_Shard(file.shard)))
                    intact = shard.digest(file) == file.sha256
            yield intact


class _Shard:
    """An open shard, read ahead by a megabyte: small files that follow each other cost one call of the system."""

    _AHEAD: ClassVar[int] = 1 << 20

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._buffer = memoryview(bytearray(self._AHEAD))
        self._start = self._stop = 0  # what the buffer holds of the shard

    def close(self) -> None:
        os.close(self._handle)

    def digest(self, part: Slice) -> str:
        """The fingerprint of what the shard holds there."""
        found, position, end = hashlib.sha256(), part.offset, part.offset + part.length
        while position < end:
            if not self._start <= position < self._stop or (end > self._stop and part.length <= self._AHEAD):
                self._start, self._stop = position, position + os.preadv(self._handle, [self._buffer], position)
                if self._stop == position:
                    break  # the shard ends here
            upto = min(end, self._stop)
            found.update(self._buffer[position - self._start : upto - self._start])
            position = upto
        return found.hexdigest()


class _Part(io.RawIOBase):
    """Reads one part of a file, from 0 to its length.

    With reads at an offset and not with a memory map: a mapped file that is cut off or can't be read kills the process
    instead of raising an error.
    """

    def __init__(self, part: Slice) -> None:
        super().__init__()
        self._part, self._position, self._handle = part, 0, -1
        try:
            self._handle = os.open(part.shard, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise part.damaged() from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._part.length}[whence]
        if start + offset < 0:
            raise ValueError(f"There is no position {start + offset}.")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """At most `size` bytes; RawIOBase would first make room for all of them, which costs more than reading."""
        if size is None or size < 0:
            return self.readall()
        block = os.pread(self._handle, min(size, self._left()), self._part.offset + self._position)
        self._position += len(block)
        return block

    def readall(self) -> bytes:
        """All that is left, usually by one call of the system."""
        found = []
        while block := os.pread(self._handle, self._left(), self._part.offset + self._position):
            found.append(block)
            self._position += len(block)
        return found[0] if len(found) == 1 else b"".join(found)

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")[: self._left()]
        count = os.preadv(self._handle, [view], self._part.offset + self._position) if len(view) else 0
        self._position += count
        return count

    def _left(self) -> int:
        return max(0, self._part.length - self._position)

    def close(self) -> None:
        if not self.closed and self._handle >= 0:
            os.close(self._handle)
        super().close()
