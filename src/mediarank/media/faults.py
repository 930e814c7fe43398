"""Who is to blame when a file can't be decoded: the file, or the machine?

Decoders raise nearly everything on damaged files, so what they raise becomes a MediaError and the file is quarantined.
A full disk, a failing disk or too few file handles say nothing about the file: they become a MachineFault, which stops
the run. FFmpeg uses the same numbers (EIO, ENOMEM) for damaged files, so its word is not enough: the file is read
again without a decoder, and memory is asked for again without the file.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mediarank.types import MachineFault, MediaError

TOO_MUCH_MEMORY: Final = "Decoding it takes more memory than one file may use; it may be damaged."
SPARE_BYTES: Final = 64 * 1024**2
"""A machine that can't give this much to an idle process has run out of memory, whatever the file asked for."""

_OPENCV_NO_MEMORY: Final = -4  # cv2.Error.StsNoMem
_MAKE_ROOM: Final = "free disk space and run it again"
_REPAIR_DISK: Final = "check the disk or the network drive (dmesg), and run it again"
_FEWER_FILES: Final = "raise the limit (ulimit -n), or use fewer processes (MEDIARANK_JOBS), and run it again"
_MORE_MEMORY: Final = "end other programs, or use fewer processes (MEDIARANK_JOBS), and run it again"
REMEDIES: Final = {
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), and run it again",
    errno.EROFS: "mount the disk so that it can be written to, and run it again",
    errno.EIO: _REPAIR_DISK,
    errno.ESTALE: _REPAIR_DISK,
    errno.ENODEV: _REPAIR_DISK,
    errno.ENXIO: _REPAIR_DISK,
    errno.ETIMEDOUT: _REPAIR_DISK,
    errno.EHOSTDOWN: _REPAIR_DISK,
    errno.ENOTCONN: _REPAIR_DISK,
    errno.EMFILE: _FEWER_FILES,
    errno.ENFILE: _FEWER_FILES,
    errno.ENOMEM: _MORE_MEMORY,
    errno.EAGAIN: _MORE_MEMORY,
}
"""Errors of the operating system that no media file can cause, and what to do about each."""


def machine_fault(error: BaseException) -> MachineFault | None:
    """The error as a fault of the machine, or None if it is not one. FFmpeg's own errors are judged elsewhere."""
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, OSError) and error.errno in REMEDIES and not _from_decoder(error):
        where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
        return MachineFault(f"{os.strerror(error.errno)}{where}: {REMEDIES[error.errno]}. No file was quarantined.")
    return None


@contextmanager
def faults_of_file(path: Path | None = None) -> Iterator[None]:
    """Whatever is raised inside becomes a MediaError, but for faults of the machine.

    path : the file that is decoded; it is read again if the decoder speaks of an input or output error
    """
    try:
        yield
    except (MediaError, MachineFault):
        raise
    except MemoryError:
        require_memory()
        raise MediaError(TOO_MUCH_MEMORY) from None
    except Exception as error:
        if getattr(error, "code", None) == _OPENCV_NO_MEMORY and type(error).__module__ == "cv2":
            require_memory()
            raise MediaError(TOO_MUCH_MEMORY) from None
        blame_machine(error, path)
        raise MediaError(f"It can't be decoded ({words_of(error)}); it is damaged or of an unusual kind.") from error


def blame_machine(error: BaseException, path: Path | None = None) -> None:
    """Raise MachineFault if the error is one of the machine; of a decoder's error, if the file can't be read at all."""
    if fault := machine_fault(error):
        raise fault from error
    if isinstance(error, OSError) and _from_decoder(error):
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOSPC):
            raise MachineFault(f"{words_of(error)}: {REMEDIES[error.errno]}. No file was quarantined.") from error
        if path is not None:
            require_readable(path)


def require_readable(path: Path) -> None:
    """Read a file to its end, and raise MachineFault if the disk can't."""
    try:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    except OSError as error:
        if fault := machine_fault(error):
            raise fault from error


def require_memory() -> None:
    """Raise MachineFault if the machine has no memory left, even for a process that has just freed its own."""
    try:
        mmap.mmap(-1, SPARE_BYTES).close()
    except (OSError, MemoryError) as error:
        raise MachineFault(f"The machine is out of memory: {_MORE_MEMORY}. No file was quarantined.") from error


def words_of(error: BaseException) -> str:
    """The message of an error on one line, without FFmpeg's numbers and file names; its name if it has none."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]


def _from_decoder(error: BaseException) -> bool:
    return type(error).__module__.startswith("av.")
