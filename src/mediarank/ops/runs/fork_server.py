"""Start `python -m` commands from a process that has already imported the slow libraries.

A stage's command spends seconds importing numpy, pandas, scikit-learn and others before it does anything. This server,
`python -m mediarank.ops.runs.fork_server SOCKET GRACE HOLD MODULE...`, imports the named modules once, and calls what
is named MODULE:FUNCTION; for each command it forks, and the child continues from there. Modules of mediarank
itself are not imported here, so a command always runs the current code.

The owner sends one line of JSON per command over a socket, with three open files: for its output, a pipe that
closes when the command is to end (see `tied_process.py`), and one for its exit code. The server ends when the socket
closes. HOLD is an open file that the server and its guards keep open, and commands do not, such as the run's lock; or
-1. Only the standard library and the named modules are imported.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import operator
import os
import runpy
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

OWN = "mediarank"


class Forked:
    """A child of this process, waited for as `subprocess.Popen` does."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def serve(channel: socket.socket, grace: float, modules: Sequence[str]) -> Callable[[], None] | None:
    """Fork for each request; returns in each child the work to do, and None in the server when it ends."""
    to_import = list(modules)
    while True:
        while to_import and not select.select([channel], [], [], 0)[0]:
            with contextlib.suppress(Exception):  # the command that needs it reports the error
                _load(to_import.pop(0))
        request, files = _receive(channel)
        if not request:
            _bury(0)  # all of them, so that what they used is counted as ours
            return None
        _bury(os.WNOHANG)
        gc.freeze()  # the children's collector need not look at, and so copy, what was imported here
        if _fork() == 0:
            channel.close()
            return _guard(json.loads(request), files, grace)
        for file in files:
            os.close(file)
        channel.sendall(b"\n")


def _load(name: str) -> None:
    """Import a module; of `module:function`, also call the function."""
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    if function:
        operator.attrgetter(function)(loaded)()


def _guard(request: dict[str, Any], files: Sequence[int], grace: float) -> Callable[[], None]:
    """Fork again for the command, and stay as its guard; returns only in the command's own process."""
    from mediarank.ops.runs.tied_process import guard

    output, owner, status = files
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    pid = _fork()
    if pid == 0:
        os.close(owner)
        os.close(status)
        return lambda: _become(request)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = guard(Forked(pid), grace, owner)
    os.write(status, str(code).encode())
    os._exit(0)


def _become(request: dict[str, Any]) -> None:
    """Run the module as `python -m` does, in its own session."""
    gc.enable()
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.chdir(request["folder"])
    os.environ.update(request["variables"])
    module, *arguments = request["command"]
    sys.argv = [module, *arguments]
    for name in [name for name in sys.modules if name.partition(".")[0] == OWN]:
        del sys.modules[name]
    importlib.invalidate_caches()
    code: object = None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    if code is None or isinstance(code, int):
        from mediarank.ops.runs.quick_end import end_quickly

        end_quickly(code or 0)
    sys.exit(str(code))


def _receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """One line and the files that came with it; an empty line if the other end is closed."""
    line, files = b"", list[int]()
    while not line.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(channel, 65536, 3)
        if not part:
            return b"", []
        line, files = line + part, [*files, *more]
    return line, files


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns because libraries have their own threads (OpenBLAS). They are idle here, and restart in the
        # child.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _bury(options: int) -> None:
    """Reap guards that have ended; with options 0, wait for the others."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def main() -> None:
    gc.disable()  # what is imported stays; looking for cycles meanwhile takes a quarter of the time
    descriptor, grace, hold, *modules = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner handles interrupts from the terminal
    work = serve(socket.socket(fileno=int(descriptor)), float(grace), modules)
    if work is not None:
        if int(hold) >= 0:
            os.close(int(hold))
        work()


if __name__ == "__main__":
    main()
