"""Kill stages and commands at each step, run them again: the same content, and nothing left over.

A step is a call that changes the disk (see `faults_crash`), and for `track`, `promote` and `rollback` also each call of
MLflow's client, each transaction of its database, and each call of git. The run that nobody kills says what is wanted;
it happens in this process, so that everything is imported and compiled for the forked children: the killed run and the
run after it. What guarded children would do is done in the killed process itself, so that each of their writes is a
step.
"""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from faults_crash import More, kill_at

PATIENCE = 600
"""Seconds after which a run that hangs is ended."""


PORTION = 40
"""Steps that are taken at a time."""


@dataclass(frozen=True)
class Work:
    """What is killed: a run in a copy of a project, and how the outcome is read.

    content : what must be the same; leftovers : what must not be there
    half : what others would see and must not, between the kill and the run after it
    """

    template: Path
    run: Callable[[Path], object]
    content: Callable[[Path], Any]
    leftovers: Callable[[Path], list[str]]
    more: More = ()
    half: Callable[[Path], list[str]] = lambda home: []


def kill_everywhere(name: str, work: Work, folder: Path, most: int | None = None, portion: int = 0) -> dict[str, int]:
    """Kill at each step, or at `most` steps spread evenly; portion : which PORTION of them, from 0"""
    copied(work, folder / "wanted")
    with quiet(), one_process(), kill_at(-1, work.more) as count:
        work.run(folder / "wanted")
    steps = count[0]
    wanted = work.content(folder / "wanted")
    spared = set(work.leftovers(folder / "wanted"))
    every = range(steps) if most is None or steps <= most else sorted({k * steps // most for k in range(most)})
    tried = other = left = half = 0
    home = folder / "home"
    for step in every[portion * PORTION : (portion + 1) * PORTION]:
        copied(work, home)
        tried += 1
        if in_child(lambda: work.run(home), step, work.more) >= 0:
            continue  # it took fewer steps this time, and ended
        if seen := work.half(home):
            half += 1
            print(f"  {name}: half-made after a kill at step {step} of {steps}: {seen[:3]}")
        in_child(lambda: work.run(home))
        if work.content(home) != wanted:
            other += 1
            print(f"  {name}: other content after a kill at step {step} of {steps}")
        if remaining := set(work.leftovers(home)) - spared:
            left += 1
            print(f"  {name}: left after a kill at step {step} of {steps}: {sorted(remaining)[:3]}")
    print(f"  {name}: {tried} of {steps} steps", flush=True)
    shutil.rmtree(folder)
    return {
        "kill_steps": {name: steps},
        "kill_points": tried,
        "kill_other_bytes": other,
        "kill_leftovers": left,
        "kill_half_seen": half,
    }


def copied(work: Work, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(work.template, home, symlinks=True)


def in_child(work: Callable[[], object], step: int = -1, more: More = ()) -> int:
    """Run in a forked child: how many steps it took, or -1 if it was killed at `step`."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(PATIENCE)
        try:
            os.close(receive)
            with quiet(), one_process(), kill_at(step, more) as count:
                work()
            os.write(send, str(count[0]).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(send)
    with os.fdopen(receive) as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return -1
    if status:
        raise RuntimeError("A run that was not killed failed; see above.")
    return int(said)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the messages and progress of a run; a traceback is still printed."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


@contextmanager
def one_process() -> Iterator[None]:
    """Do in this process what guarded children do."""
    from mediarank.media import copy_cache, guarded_child, header_cache
    from mediarank.types import MachineFault

    def here(function: Callable[[Any], Any], items: Any, *_: Any, **__: Any) -> Iterator[Any]:
        outcomes = [guarded_child.attempt(function, item) for item in items]
        for outcome in outcomes:
            if isinstance(outcome, guarded_child.Stop):
                raise MachineFault(outcome.reason)
        return iter(outcomes)

    with mock.patch.object(copy_cache, "guarded_iter", here), mock.patch.object(header_cache, "guarded_iter", here):
        yield
