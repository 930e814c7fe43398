"""Work on a Dask cluster whose workers share no disk with this machine: items go out with their bytes, rows come back.

Chunks of items are sent a bounded number ahead of the first that is not finished, so that memory does not grow with the
collection, and their outcomes are given in order. A chunk whose worker was lost is sent again; so is one that takes
much longer than the others: the first answer counts, and the worker that was slow gets no more chunks for a while. If
the scheduler restarts, everything that was not finished is sent to the new one. What a worker needs is this environment
and nothing else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mediarank.types import ConfigError, MachineFault

PATIENCE: Final = 20.0
"""Seconds that a scheduler may take to answer, also when it restarts."""
NO_WORKERS: Final = 300.0
"""Seconds to wait while no worker is connected."""
ATTEMPTS: Final = 4
AHEAD: Final = 4
"""Chunks per thread that are sent before the first of them is finished."""
SLOW: Final = 4.0
"""A chunk that takes this many times as long as others is sent to a second worker."""
AVOIDED: Final = 60.0
"""Seconds for which the first worker gets no more chunks then."""
TLS: Final = {
    "tls_ca_file": "MEDIARANK_CLUSTER_CA",
    "tls_client_cert": "MEDIARANK_CLUSTER_CERT",
    "tls_client_key": "MEDIARANK_CLUSTER_KEY",
}
"""Dask's names of the files for an encrypted cluster, and the variables that hold their paths."""

Run = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def on_cluster(
    address: str, run: Run, function: Callable[[Any], Any], chunks: Sequence[Sequence[Any]], carry: Callable[[Any], Any]
) -> Iterator[list[Any]]:
    """`run(function, chunk)` for each chunk, in order.

    carry : an item -> the same with the bytes that it needs, instead of paths on this machine
    """
    sender = _Sender(address, run, function, chunks, carry)
    try:
        for place in range(len(chunks)):
            yield sender.outcome(place)
    except _Failed as failed:
        raise failed.args[0] from None
    finally:
        sender.close()


class _Sender:
    """Keeps chunks going, and sends them again where necessary."""

    def __init__(
        self,
        address: str,
        run: Run,
        function: Callable[[Any], Any],
        chunks: Sequence[Sequence[Any]],
        carry: Callable[[Any], Any],
    ) -> None:
        self._address, self._run, self._chunks, self._carry = address, run, chunks, carry
        self._function = function
        self._client: Any = None
        self._going: dict[int, list[tuple[Any, float]]] = {}  # place -> futures, with the time when each was sent
        self._done: dict[int, list[Any]] = {}
        self._tries: dict[int, int] = {}
        self._avoided: dict[str, float] = {}  # address of a worker -> until when it gets no chunks
        self._seconds = 0.0
        self._finished = 0
        self._next = 0
        self._connect(connect)

    def close(self) -> None:
        if self._client is not None:
            with suppress(Exception):  # the scheduler may be gone
                self._client.close(timeout=2)

    def outcome(self, place: int) -> list[Any]:
        """The outcomes of one chunk; the following ones are on their way."""
        idle = time.monotonic()
        while place not in self._done:
            try:
                self._fill(place)
                if self._collect() or self._threads():
                    idle = time.monotonic()
                elif time.monotonic() - idle > NO_WORKERS:
                    raise MachineFault(
                        f"No worker has been connected to {self._address} for {NO_WORKERS:g} s. Start one (dask worker "
                        f"{self._address}) and run it again; what is finished is in the cache."
                    )
                self._hurry(place)
            except (OSError, CancelledError, RuntimeError) as error:
                self._reconnect(error)
        return self._done.pop(place)

    def _fill(self, first: int) -> None:
        """Send what is due, up to some chunks after the first that is waited for."""
        last = min(len(self._chunks), first + max(8, AHEAD * self._threads()))
        while self._next < last:
            self._send(self._next)
            self._next += 1

    def _send(self, place: int) -> None:
        self._tries[place] = self._tries.get(place, 0) + 1
        if self._tries[place] > ATTEMPTS:
            raise MachineFault(
                f"A chunk of work was lost with its worker {ATTEMPTS} times: see the workers' logs (their memory may "
                "be too small), and run it again; what is finished is in the cache."
            )
        chunk = [self._carry(item) for item in self._chunks[place]]
        future = self._client.submit(self._run, self._remote, chunk, pure=False, workers=self._others() or None)
        self._going.setdefault(place, []).append((future, time.monotonic()))

    def _others(self) -> list[str]:
        """The workers that are not avoided; empty if none is, or all are."""
        avoided = {worker for worker, until in self._avoided.items() if until > time.monotonic()}
        return [worker for worker in self._client.nthreads() if worker not in avoided] if avoided else []

    def _collect(self) -> bool:
        """Take finished chunks; True if there were any."""
        from distributed import wait

        futures = [future for sent in self._going.values() for future, _ in sent]
        with suppress(TimeoutError), self._client.as_current():
            wait(futures, timeout=1.0, return_when="FIRST_COMPLETED")
        before = self._finished
        for place, sent in list(self._going.items()):
            for future, when in list(sent):
                if future.status == "finished":
                    self._done[place] = future.result()
                    self._seconds += time.monotonic() - when
                    self._finished += 1
                    self._forget(place)
                    break
                if future.status in ("error", "cancelled", "lost"):
                    sent.remove((future, when))
                    self._again(place, future)
                    break
        return self._finished > before

    def _again(self, place: int, future: Any) -> None:
        """Send a chunk that was lost with its worker; an error of the work itself ends the run."""
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ not in ("KilledWorker", "FutureCancelledError", "CommClosedError"):
                self._forget(place)
                raise _Failed(error)
        elif self._client.status != "running":
            raise OSError("its connection was closed")
        else:  # what was scattered may have been lost with the worker
            self._remote = self._client.scatter(self._function, broadcast=True, hash=False)
        if not self._going.get(place):
            self._send(place)

    def _forget(self, place: int) -> None:
        for future, _ in self._going.pop(place, []):
            with suppress(Exception):
                future.release()

    def _hurry(self, place: int) -> None:
        """Send the chunk that is waited for to a second worker, if all others of its time are long finished."""
        sent = self._going.get(place, [])
        if len(sent) == 1 and self._finished >= 8 and len(self._done) >= min(self._threads(), len(self._going)):
            usual = self._seconds / self._finished
            if time.monotonic() - sent[0][1] > max(10.0, SLOW * usual):
                until = time.monotonic() + AVOIDED
                self._avoided |= {w: until for w, keys in self._client.processing().items() if sent[0][0].key in keys}
                others = self._others()  # Dask may keep what was scattered on that worker alone
                if others:
                    self._remote = self._client.scatter(self._function, workers=others, broadcast=True, hash=False)
                self._send(place)

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except AttributeError:  # a client that has just lost its scheduler
            raise OSError("its connection was closed") from None

    def _connect(self, opened: Callable[[str], Any]) -> None:
        self._client = opened(self._address)
        self._remote = self._client.scatter(self._function, broadcast=True, hash=False) if self._threads() else None
        if self._remote is None:  # no worker yet: the function goes with each chunk
            self._remote = self._function

    def _reconnect(self, error: BaseException) -> None:
        """After the scheduler went away: ask for a new one for a while, and send again all that is not finished."""
        print(f"The Dask scheduler at {self._address} is lost ({error}); waiting for it.", file=sys.stderr, flush=True)
        self.close()
        until = time.monotonic() + 3 * PATIENCE
        while True:
            try:
                self._connect(connect)
                break
            except (ConfigError, OSError, RuntimeError):
                if time.monotonic() > until:
                    raise MachineFault(
                        f"The Dask scheduler at {self._address} went away and did not come back. Start it (dask "
                        "scheduler) and run it again; what is finished is in the cache."
                    ) from None
                time.sleep(1)
        waiting = sorted(self._going)
        self._going.clear()
        for place in waiting:
            self._tries[place] -= 1  # not the chunk's fault
            self._send(place)


class _Failed(Exception):
    """Carries an error of the work itself past the handling of lost workers."""


def connect(address: str) -> Any:
    """A client of the scheduler; ConfigError if there is none."""
    from distributed import Client

    try:
        security = certificates() if address.startswith("tls://") else None
        return Client(address, timeout=PATIENCE, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"MEDIARANK_CLUSTER names {address!r}, but no Dask scheduler answers there; start one (dask scheduler), or "
            f"unset MEDIARANK_CLUSTER to work on this machine only. ({error})"
        ) from None


def certificates() -> Any:
    """The certificate of this process and the authority that checks the scheduler, for `tls://`."""
    from distributed.security import Security

    files = {name: os.environ.get(variable, "") for name, variable in TLS.items()}
    missing = [TLS[name] for name, file in files.items() if not Path(file).is_file()]
    if missing:
        raise ConfigError(
            f"MEDIARANK_CLUSTER is a tls:// address, which needs certificates: set {', '.join(missing)} to the files "
            "of the authority, of this machine's certificate and of its key (docs/security.md)."
        )
    return Security(require_encryption=True, **files)
