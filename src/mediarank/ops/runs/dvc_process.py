"""DVC in a separate process: imported once, controlled by lines of JSON.

Importing DVC takes a second or more, and its objects are not thread-safe. So one child, `python -m
mediarank.ops.runs.dvc_process ROOT`, reads the plan as soon as it has started and then does what it is asked: `begin`,
`finish`, `abandon` (see `dvc_stages.py`). It ends when its standard input closes, and so when its owner is gone.
"""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from mediarank.ops.runs.dag import Plan
from mediarank.ops.runs.quick_end import end_quickly
from mediarank.ops.services.environment import child_environment

if TYPE_CHECKING:
    from mediarank.ops.runs.dvc_stages import Begun

PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EINTR, errno.ETXTBSY, errno.ESTALE)
"""Faults of the machine that often pass within a second: no free processes, memory or handles."""
PASSING_SIGNS = ("Unable to acquire lock", "is busy, it is being blocked by", "database is locked")
"""How DVC reports such faults."""


class DvcFailed(Exception):
    """DVC could not do what was asked.

    passing : whether trying again may work
    """

    def __init__(self, words: str, passing: bool) -> None:
        super().__init__(words)
        self.passing = passing


class DvcProcess:
    """The child, started when this is made; its first answer is the plan."""

    def __init__(self, root: Path) -> None:
        self._mutex = threading.Lock()
        process = subprocess.Popen(
            [sys.executable, "-m", "mediarank.ops.runs.dvc_process", str(root)],
            cwd=root,  # DVC works in its own folder only
            env=child_environment(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._process = process
        self._requests, self._answers = cast(IO[str], process.stdin), cast(IO[str], process.stdout)

    def plan(self) -> Plan:
        """Wait for the plan."""
        return Plan.from_dict(self._answer())

    def begin(self, address: str) -> Begun:
        from mediarank.ops.runs.dvc_stages import Begun

        found = self._ask("begin", address)
        return Begun(found["outcome"], tuple(found["commands"]), found["folder"], tuple(map(tuple, found["variables"])))

    def finish(self, address: str) -> None:
        self._ask("finish", address)

    def abandon(self, address: str) -> None:
        self._ask("abandon", address)

    def put_in_order(self) -> None:
        self._ask("put_in_order")

    def close(self) -> None:
        """Let it end, and wait until it has ended."""
        self._requests.close()
        self._answers.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, *words: str) -> Any:
        with self._mutex:
            try:
                self._requests.write(json.dumps(words) + "\n")
                self._requests.flush()
            except (OSError, ValueError) as error:  # it died, or it was closed
                raise DvcFailed(f"the process that runs DVC has ended ({error})", passing=False) from error
            return self._answer()

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line:
            raise DvcFailed("the process that runs DVC has ended without an answer; its log is above", passing=False)
        found = json.loads(line)
        if found["kind"] == "config":
            from mediarank.types import ConfigError

            raise ConfigError(found["value"])
        if found["kind"] != "done":
            raise DvcFailed(found["value"], passing=found["kind"] == "passing")
        return found["value"]


def main() -> None:
    """Serve one owner, until it closes our standard input."""
    gc.set_threshold(1_000_000)  # imports and a large source make a million small objects, and no cycles
    from dataclasses import asdict

    import dvc  # noqa: F401 - it sets up its logging when it is imported

    from mediarank.ops.runs.dvc_stages import Stages
    from mediarank.types import ConfigError

    gc.freeze()  # what was imported stays
    logging.getLogger("dvc").setLevel(logging.WARNING)  # otherwise it logs every update of dvc.lock
    root = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DVC's output must not mix with the answers
    sys.argv = ["mediarank", "run"]  # how DVC's messages name us to others

    def answer(kind: str, value: object = None) -> None:
        answers.write(json.dumps({"kind": kind, "value": value}) + "\n")
        answers.flush()

    try:
        with Stages(root) as stages:
            requests = {do.__name__: do for do in (stages.begin, stages.finish, stages.abandon, stages.put_in_order)}
            answer("done", asdict(stages.plan))
            for line in sys.stdin:
                name, *arguments = json.loads(line)
                try:
                    begun = requests[name](*arguments)
                    answer("done", None if begun is None else asdict(begun))
                except Exception as error:  # in any case the owner waits for an answer
                    answer("passing" if passes(error) else "failed", _words(error))
    except ConfigError as error:
        answer("config", str(error))
    except BrokenPipeError:  # the owner is gone
        return


def passes(error: BaseException) -> bool:
    """Whether the fault may be temporary."""
    if isinstance(error, OSError) and error.errno in PASSING:
        return True
    return any(sign in str(error) for sign in PASSING_SIGNS)


def _words(error: BaseException) -> str:
    from dvc.exceptions import DvcException

    from mediarank.types import MediarankError

    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return (
        f"{error}{cause}"
        if isinstance(error, (DvcException, MediarankError))
        else f"{type(error).__name__}: {error}{cause}"
    )


if __name__ == "__main__":
    main()
    end_quickly(0)
