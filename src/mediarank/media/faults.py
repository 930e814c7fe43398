"""Decide whether the file or the machine is the cause when a file can't be decoded.

Decoders may raise any exception on damaged files, so their exceptions become a MediaError and the file is quarantined.
A full disk, a failing disk or too few file handles say nothing about the file: they become a MachineFault, which stops
the run. FFmpeg uses the same numbers (EIO, ENOMEM) for damaged files, so they do not decide: the file is read again
without a decoder, and memory is requested again without the file.
"""

from __future__ import annotations

import errno
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mediarank import disk
from mediarank.disk import MORE_MEMORY, REMEDIES
from mediarank.media.files import File
from mediarank.types import MachineFault, MediaError

TOO_MUCH_MEMORY: Final = "Decoding it takes more memory than one file may use; it may be damaged."
SPARE_BYTES: Final = 64 * 1024**2
"""A machine that can't give this much to an idle process is out of memory, whatever the file needed."""

_OPENCV_NO_MEMORY: Final = -4  # cv2.Error.StsNoMem


def machine_fault(error: BaseException) -> MachineFault | None:
    """The error as a fault of the machine, or None. FFmpeg's own errors are judged elsewhere."""
    fault = None if _from_decoder(error) else disk.machine_fault(error)
    return MachineFault(f"{fault} No file was quarantined.") if fault and fault is not error else fault


@contextmanager
def faults_of_file(path: File | None = None) -> Iterator[None]:
    """Turn every exception raised inside into a MediaError, except faults of the machine.

    path : the file that is decoded; it is read again if the decoder reports an input or output error
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


def blame_machine(error: BaseException, path: File | None = None) -> None:
    """Raise MachineFault if the machine caused the error; for a decoder's error, if the file can't be read at all."""
    if fault := machine_fault(error):
        raise fault from error
    if isinstance(error, OSError) and _from_decoder(error):
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOSPC):
            raise MachineFault(f"{words_of(error)}: {REMEDIES[error.errno]}. No file was quarantined.") from error
        if path is not None:
            require_readable(path)


def require_readable(path: File) -> None:
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
        raise MachineFault(f"The machine is out of memory: {MORE_MEMORY}. No file was quarantined.") from error


def words_of(error: BaseException) -> str:
    """The message of an error on one line, without FFmpeg's numbers and file names; its name if it has none."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]


def _from_decoder(error: BaseException) -> bool:
    return type(error).__module__.startswith("av.")
