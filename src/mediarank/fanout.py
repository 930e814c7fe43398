"""Apply a function to many items, on all cores or on a cluster, in order.

`fan_out` is for work on single items, by processes, with progress; `share_out` for work that shares large arrays, by
threads. `MEDIARANK_JOBS` limits the processes or threads (default: all cores); `MEDIARANK_CLUSTER` names a Dask
scheduler (`tcp://host:8786`) to use instead. Neither changes a result: outcomes are returned in the order of the items,
and every worker limits BLAS to one thread; processes limit OpenCV and numba, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

from mediarank.types import ConfigError

START_UP: Final = 2.0
"""Seconds that worker processes need to import their modules; shorter work is done without them."""
PART_SECONDS: Final = 4.0
"""Work that a worker gets at a time, at most, unless one item takes longer."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def jobs() -> int:
    """How many processes or threads to use on this machine."""
    text = os.environ.get("MEDIARANK_JOBS", "")
    if not text:
        return int(joblib.cpu_count())
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"MEDIARANK_JOBS must be a whole number from 1 up, not {text!r}.")
    return int(text)


def cluster() -> str:
    """The address of the Dask scheduler to use; empty for this machine alone."""
    return os.environ.get("MEDIARANK_CLUSTER", "")


def fan_out(
    function: Callable[[Item], Outcome], items: Sequence[Item], what: str, batch: int | None = None
) -> list[Outcome]:
    """`[function(item) for item in items]`, spread over processes; `function` must be picklable and pure."""
    return list(fan_out_iter(function, items, what, batch))


def fan_out_iter(
    function: Callable[[Item], Outcome],
    items: Sequence[Item],
    what: str,
    batch: int | None = None,
    carry: Callable[[Item], Item] | None = None,
) -> Iterator[Outcome]:
    """The same, one outcome after another as they become ready, so that the caller need not hold them all.

    batch : items per transfer to a worker; the default aims at a hundred transfers of at most 64 items
    carry : an item that names files -> the same with their bytes, for a worker that does not have these files
    """
    batch = batch or max(1, min(64, len(items) // 100))
    chunks = [items[start : start + batch] for start in range(0, len(items), batch)]
    outcomes = _outcomes(function, chunks, carry or (lambda item: item))
    for chunk in with_progress(outcomes, [len(c) for c in chunks], what):
        yield from chunk


def _outcomes(
    function: Callable[[Any], Any], chunks: Sequence[Sequence[Any]], carry: Callable[[Any], Any]
) -> Iterator[list[Any]]:
    """Chunk by chunk in this process, until starting others is worth it for the rest; or on the cluster."""
    if cluster():
        from mediarank.cluster import on_cluster

        yield from on_cluster(cluster(), _run_chunk, function, chunks, carry)
        return
    done, workers, taken = 0, jobs(), 0.0
    while done < len(chunks):
        started = time.monotonic()
        found_here = _run_chunk(function, chunks[done])
        taken = time.monotonic() - started
        yield found_here
        done += 1
        left = taken * (len(chunks) - done)
        if done > 1 and left * (1 - 1 / workers) > START_UP:  # the first chunk also loads modules
            break
    if done == len(chunks):
        return
    # Slow work is sent in smaller parts, so that a killed run loses little.
    longest = max(map(len, chunks))
    size = max(1, min(longest, int(PART_SECONDS / max(taken / len(chunks[done - 1]), 1e-9))))
    rest = chunks[done:]
    parts = [chunk[at : at + size] for chunk in rest for at in range(0, len(chunk), size)]
    found = joblib.Parallel(workers, "loky", return_as="generator")(
        joblib.delayed(_run_chunk)(function, part) for part in parts
    )
    for chunk in rest:
        outcomes: list[Any] = []
        while len(outcomes) < len(chunk):
            outcomes += next(found)
        yield outcomes


def share_out(function: Callable[[Item], Outcome], items: Sequence[Item], threads: int | None = None) -> list[Outcome]:
    """`[function(item) for item in items]` on threads that share what `function` holds, or on the cluster.

    function : pure and picklable, such as a `partial` with large arrays: each worker of a cluster gets it once
    threads : on this machine, at most; by default `jobs()`
    """
    if cluster() and items:
        from mediarank.cluster import on_cluster

        found = on_cluster(cluster(), _run_chunk, function, [[item] for item in items], lambda item: item)
        return [outcome for [outcome] in found]
    return on_threads(function, items, threads)


def on_threads(function: Callable[[Item], Outcome], items: Sequence[Item], threads: int | None = None) -> list[Outcome]:
    """`[function(item) for item in items]` on this machine, with BLAS held to one thread; it may write to arrays."""
    workers = min(jobs(), len(items), threads or len(items))
    with one_thread("blas"):
        if workers <= 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(function, items))


def _run_chunk(function: Callable[[Any], Any], chunk: Sequence[Any]) -> list[Any]:
    import cv2

    cv2.setNumThreads(1)
    with one_thread():
        return [function(item) for item in chunk]


def one_thread(user_api: str | None = None) -> Any:
    """A context in which libraries use one thread.

    user_api : only libraries of one kind, such as `blas`
    """
    return _thread_pools(len(sys.modules)).limit(limits=1, user_api=user_api)


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> Any:
    """The libraries that have their own threads; searched only after new imports, because it takes long."""
    return ThreadpoolController()


def with_progress(chunks: Iterable[Any], lengths: Sequence[int], what: str) -> Iterator[Any]:
    """A progress bar on a terminal; in a log, a line every ten seconds and one at the end; nothing for one item."""
    total = sum(lengths)
    if total == 1:
        yield from chunks
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total, rate="")
            started = time.monotonic()
            finished = 0
            for chunk, length in zip(chunks, lengths, strict=True):
                finished += length
                rate = finished / max(time.monotonic() - started, 1e-9)
                bar.update(task, advance=length, rate=f"{rate:.0f}/s")
                yield chunk
        return
    started = said = time.monotonic()
    finished = 0
    for chunk, length in zip(chunks, lengths, strict=True):
        finished += length
        now = time.monotonic()
        if now - said >= 10 or finished == total:
            rate = finished / max(now - started, 1e-9)
            left = f", {(total - finished) / rate:.0f} s left" if finished < total else ""
            print(f"{what}: {finished} of {total}, {rate:.0f}/s{left}", file=sys.stderr, flush=True)
            said = now
        yield chunk
