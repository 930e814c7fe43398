"""Whatever a decoder raises on arbitrary bytes is the file's fault: one translation into MediaError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mediarank.types import MediaError


@contextmanager
def faults_of_file() -> Iterator[None]:
    """Decoders raise nearly everything on damaged files, so nearly everything is caught and becomes a reason."""
    try:
        yield
    except MediaError:
        raise
    except MemoryError:
        raise MediaError("Decoding it takes more memory than one file may use; it may be damaged.") from None
    except Exception as error:
        raise MediaError(f"It can't be decoded ({words_of(error)}); it is damaged or of an unusual kind.") from error


def words_of(error: BaseException) -> str:
    """The message of an error on one line, without FFmpeg's numbers and file names; its name if it has none."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
