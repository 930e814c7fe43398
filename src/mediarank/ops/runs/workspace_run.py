"""One run in one workspace, as used by the flow's tasks and by `mediarank run`.

`Workspace` holds the workspace's lock and the run's processes; it runs commands. `PipelineRun` adds DVC's plan and
brings stages up to date, several at a time; each ends as unchanged, restored, run, failed for good, or failed by a
temporary fault that deserves another attempt.

A run that has nothing to do should cost little more than asking DVC. So DVC is imported by another process, which a
script can start before it imports Prefect (`begin_early`), and pandas is imported only where it is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from mediarank.ops.runs.dag import LOCK, Stage
from mediarank.ops.runs.dvc_process import PASSING, DvcFailed, DvcProcess
from mediarank.ops.runs.one_at_a_time import one_run, take
from mediarank.ops.runs.report_baseline import STAGE as REPORT
from mediarank.ops.runs.report_baseline import renew_baseline
from mediarank.ops.runs.run_times import Progress
from mediarank.ops.runs.stage_processes import Children, Ended, shell_command, starts_warm
from mediarank.ops.services.environment import state_folder

Say = Callable[[str], None]


class StageFailed(Exception):
    """A stage failed, and would fail again; the message has its last output."""


class PassingFault(Exception):
    """A stage could not run because of a temporary fault; another attempt may work."""


class Done(StrEnum):
    """How a stage was brought up to date."""

    CACHED = "nothing it reads has changed"
    RESTORED = "outputs restored from DVC's run cache"
    RAN = "ran"


@dataclass(frozen=True)
class FollowUp:
    """A command to run after the stages, once per version of its inputs and per place where it writes.

    reads : files that decide its result; it is run again if one of them changed
    keeps : files it adds to; it is run again if one of them is another file than last time
    settings : environment variables that say where it writes
    """

    name: str
    command: tuple[str, ...]
    reads: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def key(self, root: Path) -> str:
        digest = hashlib.sha256(repr(self).encode())
        for path in self.reads:
            digest.update((root / path).read_bytes() if (root / path).exists() else b"-")
        for path in self.keeps:
            digest.update(str((root / path).stat().st_ino if (root / path).exists() else "-").encode())
        for name in self.settings:
            digest.update(f"{name}={os.environ.get(name, '')}".encode())
        return digest.hexdigest()


TRACK = FollowUp(
    "track",
    (sys.executable, "-m", "mediarank", "track"),
    reads=(LOCK,),
    keeps=("mlflow.db",),
    settings=("MLFLOW_TRACKING_URI",),
)

PROMOTE = FollowUp(
    "promote",
    (sys.executable, "-m", "mediarank", "promote", "--scheduled"),
    reads=(LOCK, "params.yaml"),
    keeps=("mlflow.db",),
    settings=("MLFLOW_TRACKING_URI",),
)


_BEGUN: dict[Path, tuple[int, DvcProcess]] = {}
"""Workspaces that this process already holds, with the process that reads their plan."""


def begin_early(root: Path) -> None:
    """Take the workspace, if it is free, and start reading its plan; this process's next run continues from there."""
    root = root.resolve()
    held = take(root)
    if held is not None:
        _BEGUN[root] = held, DvcProcess(root)


class Workspace:
    """The workspace at `root`, held for one run; at the end all its processes have ended.

    seconds : how long a command may take
    hold : False for a command that takes the workspace's lock itself
    At most `MEDIARANK_JOBS` commands run at a time.
    """

    def __init__(self, root: Path, say: Say, seconds: float, hold: bool = True) -> None:
        self.root = root.resolve()
        self._say = say
        self._seconds = seconds
        self._hold = hold
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            held = self._open(stack)
            self._children = stack.enter_context(Children(self.root, _jobs, held))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def command(self, name: str, arguments: Sequence[str], say: Say) -> Done:
        """Run a command of mediarank; its output is passed on."""
        with self._children.slot():
            self._run(name, (sys.executable, "-m", "mediarank", *arguments), say)
        return Done.RAN

    def _open(self, stack: ExitStack) -> int | None:
        return stack.enter_context(one_run(self.root, self._say)) if self._hold else None

    def _run(
        self,
        name: str,
        command: tuple[str, ...],
        say: Say,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        try:
            ended = self._children.run(command, say, self._seconds, variables, folder)
        except OSError as error:
            if error.errno in PASSING:
                raise PassingFault(f"{name} could not be started: {error}") from error
            raise
        if ended.out_of_time:
            raise StageFailed(
                f"{name} took longer than {self._seconds:g} s and was ended. Give it more time (stage_hours), or less "
                f"to do.{_last_lines(ended)}"
            )
        if ended.code:
            raise StageFailed(f"{name} failed (exit code {ended.code}).{_last_lines(ended)}")


class PipelineRun(Workspace):
    """A workspace with DVC's plan for it; at the end `dvc.lock` is in order."""

    def __init__(self, root: Path, say: Say, seconds: float) -> None:
        super().__init__(root, say, seconds)
        self._moved: set[str] = set()
        self._stale: set[str] = set()

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, in plan order."""
        return self._plan.stages

    def leading_to(self, address: str) -> tuple[Stage, ...]:
        """A stage and all stages that it needs, in plan order."""
        if address not in self._stages:
            from mediarank.types import ConfigError

            raise ConfigError(f"dvc.yaml plans no stage {address!r}; it plans {', '.join(self._stages)}.")
        needed, queue = set(), [address]
        while queue:
            needed.add(queue[-1])
            queue += self._stages[queue.pop()].upstream
        return tuple(stage for stage in self.stages if stage.address in needed)

    def _open(self, stack: ExitStack) -> int | None:
        early, reading = _BEGUN.pop(self.root, (None, None))
        held = stack.enter_context(one_run(self.root, self._say, early))
        self._dvc = reading or DvcProcess(self.root)
        stack.callback(self._dvc.close)
        self._plan = self._dvc.plan()
        self._stages = {stage.address: stage for stage in self._plan.stages}
        if renew_baseline(self.root, self._plan.stages):
            self._stale.add(REPORT)  # the plan was read before
        self._progress = Progress(state_folder(self.root), self._plan.stages, _jobs)
        stack.callback(self._tidy)
        return held

    def start_no_more(self) -> None:
        """Let running stages finish, and start no others."""
        self._children.start_no_more()

    def bring_up_to_date(self, address: str, say: Say) -> Done:
        """Reproduce one stage, whose upstream stages are up to date, if necessary."""
        stage = self._stages[address]
        if stage.unchanged and address not in self._stale and self._moved.isdisjoint(stage.upstream):
            self._progress.skip(address)
            return Done.CACHED
        if any(starts_warm(shell_command(line, self.root)) for line in stage.commands):
            self._children.warm_up()
        with self._children.slot(self._progress.urgency(address)) as share:
            done = self._reproduce(address, say, share)
        if done is not Done.CACHED:
            self._moved.add(address)
        return done

    def _reproduce(self, address: str, say: Say, share: int) -> Done:
        from mediarank.ops.runs.dvc_stages import TO_RUN

        try:
            begun = self._dvc.begin(address)
            if begun.outcome != TO_RUN:
                self._progress.skip(address)
                return Done[begun.outcome.upper()]
            self._say(self._progress.begin(address))
            began = time.monotonic()
            variables = {**dict(begun.variables), "MEDIARANK_JOBS": str(share)}
            try:
                for command in begun.commands:
                    arguments = shell_command(command, self.root)
                    self._run(address, arguments, say, variables, Path(begun.folder))
            except BaseException:
                self._dvc.abandon(address)
                raise
            self._dvc.finish(address)
        except DvcFailed as failure:
            if failure.passing:
                raise PassingFault(f"{address}: {failure}") from failure
            raise StageFailed(f"{address} failed: {failure}") from failure
        seconds = time.monotonic() - began
        self._progress.end(address, seconds)
        self._say(f"{address} took {seconds:.1f} s")
        return Done.RAN

    def follow_up(self, what: FollowUp, say: Say) -> Done:
        """Run a command that comes after the stages, unless it was already done for exactly this state."""
        self._tidy()
        marks = state_folder(self.root) / "followed.json"
        try:
            done = dict(json.loads(marks.read_text()))
        except (OSError, ValueError):
            done = {}
        if done.get(what.name) == what.key(self.root):
            return Done.CACHED
        with self._children.slot():
            self._run(what.name, what.command, say)
        from mediarank import store

        store.write_json(marks, {**done, what.name: what.key(self.root)}, sealed=False)
        return Done.RAN

    def _tidy(self) -> None:
        """Put the records of stages that ran in parallel into plan order."""
        if self._moved or not self._plan.in_order:
            self._dvc.put_in_order()
            self._progress.save()


def _last_lines(ended: Ended, most: int = 40) -> str:
    """The command's last lines of output."""
    return "".join(f"\n{line}" for line in ended.lines[-most:])


def _jobs() -> int:
    from mediarank.fanout import jobs

    return jobs()
