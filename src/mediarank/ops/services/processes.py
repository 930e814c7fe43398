"""Background processes: how they are recorded, recognised and ended.

Each gets a random mark in its environment, which everything it starts inherits. The mark, not the process id,
identifies a process: ids are reused, marks are not. So exactly the processes that were started are ended, with all
their children, and no others.
"""

from __future__ import annotations

import errno
import fcntl
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil  # type: ignore[import-untyped]

from mediarank.ops.services.environment import child_environment, state_folder, temporary_folder
from mediarank.seals import open_json

MARK = "MEDIARANK_SERVICE"
RECORDS = "services.json"
PORT_SECONDS = 10.0
START_SECONDS = 10.0


@dataclass(frozen=True)
class Record:
    """One process that was started: its id, its start time, its address and its log."""

    pid: int
    started: float
    mark: str
    address: str
    log: str

    @property
    def alive(self) -> bool:
        """Whether the process itself runs, and not another one that has reused its id."""
        try:
            found = psutil.Process(self.pid)
            return bool(found.status() != psutil.STATUS_ZOMBIE and found.environ().get(MARK) == self.mark)
        except psutil.Error:
            return False

    def members(self) -> list[psutil.Process]:
        """Every living process with the mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self.mark:
                    found.append(process)
            except psutil.Error:  # it has ended, or belongs to another user
                continue
        return found


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Wait until no other process starts or ends services of this project."""
    with (state_folder(root) / "services.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_records(root: Path) -> dict[str, Record]:
    """What this project has started; a copy of its folder has started nothing."""
    folder = state_folder(root)
    try:
        found = open_json((folder / RECORDS).read_bytes())
        records = {name: Record(**fields) for name, fields in found.items()}
        return {name: record for name, record in records.items() if Path(record.log).is_relative_to(folder)}
    except (OSError, ValueError, TypeError, AttributeError):  # none yet, or damaged: there is nothing to end
        return {}


def write_records(root: Path, records: Mapping[str, Record]) -> None:
    path = state_folder(root) / RECORDS
    if not records:
        path.unlink(missing_ok=True)
        return
    from mediarank import store

    store.write_json(path, {name: asdict(record) for name, record in records.items()})


def launch(root: Path, name: str, command: Sequence[str], address: str, variables: Mapping[str, str]) -> Record:
    """Start a background process in its own session, with its output in `.mediarank/logs`."""
    log = state_folder(root) / "logs" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    mark = secrets.token_hex(16)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=root,
            env={**child_environment(root), "TMPDIR": str(temporary_folder(root)), **variables, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    record = Record(process.pid, time.time(), mark, address, str(log))
    deadline = time.monotonic() + START_SECONDS
    while not record.alive and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)  # for a moment after its start a program has no environment, and so no mark
    return record


def end(record: Record, grace: float = 15.0) -> None:
    """Ask the process and its descendants to end, and kill those still running after `grace` seconds.

    Its port is free afterwards, unless another program has taken it.
    """
    asked: set[int] = set()
    deadline = time.monotonic() + grace
    while (members := record.members()) and time.monotonic() < deadline:
        # The process itself is asked first: it may have to clean up, such as its own children.
        led = any(process.pid == record.pid for process in members)
        for process in members:
            if process.pid not in asked and (process.pid == record.pid or not led):
                _send(process, signal.SIGTERM)
                asked.add(process.pid)
        time.sleep(0.1)
    for process in members:
        _send(process, signal.SIGKILL)
    psutil.wait_procs(members, timeout=5)
    # A process whose first thread has ended is a zombie; on a busy machine its other threads keep the port for longer.
    port = urlsplit(record.address).port
    deadline = time.monotonic() + PORT_SECONDS
    while port and in_use(port) and time.monotonic() < deadline:
        time.sleep(0.05)


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:
        return


def tail(record: Record, lines: int = 15) -> str:
    """The end of the log, for a message."""
    try:
        return "\n".join(Path(record.log).read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"


def in_use(port: int) -> bool:
    """Whether something on this machine already listens on the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def listener(port: int) -> str:
    """The program that listens on a port, as far as this user may know, for a message."""
    try:
        for process in psutil.process_iter():
            try:
                listening = [c for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            except psutil.Error:  # it has ended, or belongs to another user
                continue
            if any(connection.laddr.port == port for connection in listening):
                return f" by process {process.pid} ({' '.join(process.cmdline()[:4])})"
    except OSError:
        return ""
    return " by a program of another user"


def prefect_api(root: Path) -> str:
    """The address of the Prefect server of `up`; empty if it does not run."""
    record = read_records(root).get("prefect")
    return f"{record.address}/api" if record is not None and record.alive else ""
