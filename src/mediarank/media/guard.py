"""Process many files in child processes, so that a crash, a hang or too much memory costs one file only.

Like `fanout.fan_out`, with outcomes in order and `MEDIARANK_JOBS` processes of one thread each. In addition each item
has a limit on processor time, kept by the kernel inside the child, where no decoder can avoid it; each child has a
limit on memory; and when a child dies, only the item that it was decoding is lost. An item that kills its child is
tried once more in a new one, so that it is not blamed for damage by the items before it. Children end when their parent
ends, however that happens. Everything runs on this machine, because the files are here.

Only faults of a file become a `Failed`. Faults of the machine raise MachineFault and end the whole call: errors such as
a full disk (see `faults`), a child that the system killed twice for its memory, an item that twice waited for the disk
until its time was over.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, TypeVar

from mediarank import fanout
from mediarank.media.confine import Confinement
from mediarank.media.guarded_child import Failed as Failed
from mediarank.media.guarded_child import Stop, serve
from mediarank.types import MachineFault, MediarankError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

MEMORY_BYTES: Final = 4 * 1024**3
"""Memory that a child may use beyond what it has at its start: the largest image allowed takes half of it."""

_WAITING: Final = 30
"""Wall time allowed for an item, as a multiple of its limit on processor time: the machine may be very busy."""
_BATCH: Final = 16  # most items per batch: enough to hide the transfer, few enough to share evenly
_STEPS: Final = 200  # of the progress bar
_READY: Final = -1
_LATER: Final = 64
"""An item that killed its child is tried again after this many others, so that outcomes need not wait for long."""


def guarded_map(
    function: Callable[[Item], Outcome],
    items: Sequence[Item],
    what: str,
    timeout_seconds: float,
    memory_bytes: int = MEMORY_BYTES,
    confinement: Confinement | None = None,
    wall_seconds: float | None = None,
) -> list[Outcome | Failed]:
    """`[function(item) for item in items]` in guarded child processes, with `Failed(reason)` for a missing outcome.

    `function`, items and outcomes must be picklable; `function` must be importable, and may be called again for an
    item whose outcome was lost. Its exceptions become the reason. Output of decoders is dropped.

    timeout_seconds : processor time for one item
    confinement : the only files that children may use, if the kernel can enforce it; what is in force is printed
    wall_seconds : wall time for one item; by default thirty times its processor time
    """
    return list(guarded_iter(function, items, what, timeout_seconds, memory_bytes, confinement, wall_seconds))


def guarded_iter(
    function: Callable[[Item], Outcome],
    items: Sequence[Item],
    what: str,
    timeout_seconds: float,
    memory_bytes: int = MEMORY_BYTES,
    confinement: Confinement | None = None,
    wall_seconds: float | None = None,
) -> Iterator[Outcome | Failed]:
    """The same, one outcome after another in order, so that the caller need not hold them all."""
    if not items:
        return
    step = max(1, len(items) // _STEPS)
    lengths = [min(step, len(items) - start) for start in range(0, len(items), step)]
    wall_seconds = _WAITING * timeout_seconds if wall_seconds is None else wall_seconds
    pool = _Pool(function, timeout_seconds, wall_seconds, memory_bytes, confinement)
    early: dict[int, Any] = {}  # outcomes that wait for those of items before them
    try:
        results = pool.run(items)
        groups = ([next(results) for _ in range(length)] for length in lengths)
        due = 0
        for group in fanout.with_progress(groups, lengths, what):
            early.update(group)
            while due in early:
                yield early.pop(due)
                due += 1
    finally:
        pool.close()


@dataclass
class _Worker:
    """A child, our end of its pipe, and its items.

    The position of its current item is in memory that outlives it, and so is where it was when it crashed; then the
    positions of all items not yet returned.
    """

    process: Any
    connection: Connection
    current: Any
    last_words: Connection
    waiting: deque[int] = field(default_factory=deque)


class _Pool:
    """Children that are given a batch of items whenever they are idle, and are replaced when they die."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        timeout_seconds: float,
        wall_seconds: float,
        memory_bytes: int,
        confinement: Confinement | None,
    ) -> None:
        self._arguments = (function, timeout_seconds, wall_seconds, memory_bytes, confinement)
        self._in_force = ""
        self._timeout_seconds, self._wall_seconds = timeout_seconds, wall_seconds
        # A clean server process forks the children: forking this one, with its threads, could deadlock them, and
        # starting each as a new interpreter costs a second.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["mediarank.media.frames", "mediarank.media.guard"])
        self._workers: list[_Worker] = []

    def run(self, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """(position, outcome) of each item, as they are finished."""
        todo = deque(range(len(items)))
        suspects: set[int] = set()
        workers = self._workers
        workers.extend(self._started() for _ in range(min(fanout.jobs(), len(items))))
        for worker in workers:
            self._await(worker)
        left = len(items)
        while left:
            for place, worker in enumerate(workers):
                busy = any(other.waiting for other in workers)
                # A suspect is tried when nothing else runs, so that it is not blamed for what other items use, and in
                # a child that has decoded nothing else, whose memory no other item can have damaged.
                if not worker.waiting and todo and not (busy and todo[0] in suspects):
                    if todo[0] in suspects and worker.current.value != _READY:
                        workers[place] = self._replaced(worker)
                    self._give(workers[place], todo, suspects, items)
            for ready in wait([worker.connection for worker in workers if worker.waiting]):
                worker = next(w for w in workers if w.connection is ready)
                try:
                    answers = worker.connection.recv()
                except (EOFError, OSError):
                    answers = self._bury(worker, todo, suspects)
                    workers.append(self._started())
                    self._await(workers[-1])
                for position, outcome in answers:
                    if isinstance(outcome, Stop):
                        raise MachineFault(outcome.reason)
                    worker.waiting.remove(position)
                    left -= 1
                    yield position, outcome

    def close(self) -> None:
        for worker in self._workers:
            _end(worker)

    def _started(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        heard, said = self._context.Pipe(duplex=False)
        current = self._context.RawValue("q", _READY)
        process = self._context.Process(target=serve, args=(theirs, current, said, *self._arguments), daemon=True)
        process.start()
        theirs.close()
        said.close()
        return _Worker(process, ours, current, heard)

    def _replaced(self, worker: _Worker) -> _Worker:
        new = self._started()
        self._await(new)
        _end(worker)
        return new

    def _await(self, worker: _Worker) -> None:
        """Wait until a new child is ready; if it can't start for the first item, it can't start for any."""
        try:
            in_force = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            raise MediarankError(
                f"A decoding process ended with code {worker.process.exitcode} before its first item. If this is a "
                "script, its work must be under: if __name__ == '__main__'."
            ) from None
        if in_force != self._in_force:
            print(f"decoding is confined by {in_force}", file=sys.stderr)
            self._in_force = in_force

    def _give(self, worker: _Worker, todo: deque[int], suspects: set[int], items: Sequence[Any]) -> None:
        """Give a batch to an idle child; an item that has killed a child before is given alone."""
        fair = max(1, len(todo) // (4 * len(self._workers)))
        while todo and len(worker.waiting) < min(_BATCH, fair):
            alone = todo[0] in suspects
            if alone and worker.waiting:
                break
            worker.waiting.append(todo.popleft())
            if alone:
                break
        with suppress(OSError):  # a child that died while idle is noticed when its pipe is read
            worker.connection.send([(position, items[position]) for position in worker.waiting])

    def _bury(self, worker: _Worker, todo: deque[int], suspects: set[int]) -> list[tuple[int, Failed]]:
        """Put back the items that a dead child did not return, except its current one if that is surely the cause."""
        self._workers.remove(worker)
        worker.process.join()
        code = worker.process.exitcode
        place = _place(worker.last_words)
        _end(worker)
        culprit = worker.current.value if worker.current.value in worker.waiting else worker.waiting[0]
        answers: list[tuple[int, Any]] = []
        if code == -signal.SIGPROF:
            answers = [(culprit, Failed(f"Decoding it took more than {self._timeout_seconds:g} s and was ended."))]
        elif culprit in suspects:
            answers = [(culprit, self._verdict(code, place))]
        else:
            suspects.add(culprit)
        lost = [position for position, _ in answers]
        todo.extendleft(position for position in reversed(worker.waiting) if position not in (*lost, culprit))
        if not answers:
            todo.insert(_LATER, culprit)
        return answers

    def _verdict(self, code: int, place: str) -> Failed | Stop:
        """The outcome of an item that has killed two children, the second while no other ran."""
        if code == -signal.SIGKILL:
            return Stop(
                "The system killed a decoding process twice, as it does when memory runs out: end other programs, or "
                "lower manifest.limits.max_pixels in params.yaml, and run it again. No file was quarantined."
            )
        if code == -signal.SIGALRM:
            return Stop(
                f"A file took {self._wall_seconds:g} s without using the processor, twice: check the "
                "disk or the network drive that it is on, and run it again. No file was quarantined."
            )
        return Failed(f"Decoding it crashed the decoder twice ({_cause(code)}{place}).")


def _end(worker: _Worker) -> None:
    worker.connection.close()
    worker.last_words.close()
    worker.process.kill()
    worker.process.join()
    worker.process.close()


def _place(last_words: Connection) -> str:
    """The function that a dead child was in, which tells the library; empty if it did not crash."""
    os.set_blocking(last_words.fileno(), False)
    with suppress(OSError):
        trace = os.read(last_words.fileno(), 1 << 16).decode(errors="replace")
        if found := re.search(r'File "([^"]+)", line (\d+) in (\S+)', trace):
            return f" in {found[3]}, {'/'.join(Path(found[1]).parts[-2:])} line {found[2]}"
    return ""


def _cause(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
