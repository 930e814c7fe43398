"""The child of `guard`: decode one item after the other within limits, and return outcomes or reasons.

`serve` is the main loop. Each item has a limit on processor time and on wall time, kept by the kernel in this process,
where no decoder can avoid it; `attempt` decides whether an exception is a fault of the file (`Failed`) or of the
machine (`Stop`).
"""

from __future__ import annotations

import ctypes
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from threadpoolctl import threadpool_limits

from mediarank.media.confine import Confinement, confine
from mediarank.media.faults import TOO_MUCH_MEMORY, machine_fault, require_memory, words_of
from mediarank.types import MachineFault, MediarankError

_PATIENCE: Final = 0.1  # seconds after which a child returns its results so far


@dataclass(frozen=True)
class Failed:
    """Stands for a missing outcome, with the reason."""

    reason: str


@dataclass(frozen=True)
class Stop:
    """Stands for a missing outcome: the machine failed, so that no item can be judged."""

    reason: str


def serve(
    connection: Connection,
    current: Any,
    last_words: Connection,
    function: Callable[[Any], Any],
    timeout_seconds: float,
    wall_seconds: float,
    memory_bytes: int,
    confinement: Confinement | None,
) -> None:
    """The main loop of a child: answer each item of each batch, until the parent closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    faulthandler.enable(last_words.fileno(), all_threads=False)
    _be_quiet_and_modest(memory_bytes)
    _reuse_memory()
    with threadpool_limits(1):
        connection.send("" if confinement is None else confine(confinement))
        while True:
            try:
                batch = connection.recv()
            except EOFError:
                return
            answers: list[tuple[int, Any]] = []
            answered = time.monotonic()
            for position, item in batch:
                current.value = position
                signal.setitimer(signal.ITIMER_PROF, timeout_seconds)
                signal.setitimer(signal.ITIMER_REAL, wall_seconds)
                answers.append((position, attempt(function, item)))
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.setitimer(signal.ITIMER_PROF, 0)
                if isinstance(answers[-1][1], Stop):
                    _answer(connection, answers)
                    return
                if time.monotonic() > answered + _PATIENCE:
                    _answer(connection, answers)
                    answers, answered = [], time.monotonic()
            _answer(connection, answers)


def attempt(function: Callable[[Any], Any], item: Any) -> Any:
    """The function's outcome; or `Failed` if the item is to blame, or `Stop` if the machine is."""
    try:
        return function(item)
    except MachineFault as error:
        return Stop(str(error))
    except MediarankError as error:
        return Failed(str(error))
    except MemoryError:
        try:
            require_memory()
        except MachineFault as error:
            return Stop(str(error))
        return Failed(TOO_MUCH_MEMORY)
    except Exception as error:  # one unexpected error must not end a long run; the table names it
        if fault := machine_fault(error):
            return Stop(str(fault))
        if isinstance(error, PermissionError | ImportError):  # inputs are checked before: this is no fault of theirs
            where = f" ({error.filename})" if isinstance(error, PermissionError) and error.filename else ""
            return Stop(f"Decoding could not use a file of its own{where}: {words_of(error)}. No file was quarantined.")
        return Failed(f"{type(error).__name__}: {words_of(error)}")


def _answer(connection: Connection, answers: list[tuple[int, Any]]) -> None:
    try:
        connection.send(answers)
    except (TypeError, AttributeError, ValueError) as error:  # raised by pickling, before anything is sent
        if len(answers) > 1:
            for answer in answers:
                _answer(connection, [answer])
        else:
            failed = Failed(f"Its result can't be sent back: {words_of(error)}")
            connection.send([(position, failed) for position, _ in answers])


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _be_quiet_and_modest(memory_bytes: int) -> None:
    import cv2

    cv2.setNumThreads(1)
    # libjpeg, libpng and OpenCV each write to standard error in their own way; the reason is returned instead.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected now and then; core dumps are of no use
    if sys.platform == "linux":  # elsewhere the address space says little about memory in use
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = taken + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def _reuse_memory() -> None:
    """Make glibc keep freed memory for the next picture: returning it to the kernel costs a fifth of all time."""
    m_trim_threshold, m_mmap_threshold = -1, -3
    with suppress(OSError, AttributeError):  # other C libraries have no such settings
        libc = ctypes.CDLL(None)
        libc.mallopt(m_mmap_threshold, 32 * 1024**2)  # the largest value that older versions accept
        libc.mallopt(m_trim_threshold, 256 * 1024**2)
