"""What scale.py measured so far, and what a run of the pipeline takes, in one piece or in portions that are killed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from ops_project import Project, Watch, no_orphans


class Kept:
    """What was measured so far, on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.values: dict[str, Any] = self._read()

    def once(self, name: str, measure: Callable[[], Any]) -> Any:
        if name not in self.values:
            self._keep(name, measure())
        print(f"{name}: {self.values[name]}", flush=True)
        return self.values[name]

    def in_portions(self, name: str, measure: Callable[[], dict[str, Any]]) -> None:
        """The same for `watched`, whose portions are added up; ends the program if the run is not finished."""
        if name not in self.values:
            portions = [*self.values.get(f"portions of {name}", []), measure()]
            self._keep(f"portions of {name}", portions)
            if not portions[-1]["finished"]:
                raise SystemExit(f"{name} was killed after portion {len(portions)}; the same command goes on.")
            self._keep(name, added(portions))
        print(f"{name}: {self.values[name]}", flush=True)

    def _read(self) -> dict[str, Any]:
        return dict(json.loads(self._path.read_text())) if self._path.exists() else {}

    def _keep(self, name: str, measured: Any) -> None:
        self.values = {**self._read(), name: measured}  # another process may have measured another part
        self._path.write_text(json.dumps(self.values, indent=1))


class Spent(Watch):
    """Also the processor time of each stage, with its children: it says more than the clock on a busy machine."""

    def __init__(self, pid: int) -> None:
        self._seen: dict[tuple[str, int], float] = {}
        self._every: dict[int, float] = {}
        super().__init__(pid, pause=0.25)

    def _stages(self) -> list[tuple[str, psutil.Process]]:
        found = super()._stages()
        for stage, process in [*found, ("dvc", self._process)]:
            for member in [process, *(process.children(recursive=True) if stage != "dvc" else [])]:
                _note(self._seen, (stage, member.pid), member)
        for member in [self._process, *self._process.children(recursive=True)]:
            _note(self._every, member.pid, member)
        return found

    @property
    def processor(self) -> dict[str, float]:
        spent: dict[str, float] = {}
        for (stage, _), seconds in self._seen.items():
            spent[stage] = spent.get(stage, 0.0) + seconds
        return spent

    @property
    def whole(self) -> float:
        """Of the command and everything that it started, as last seen."""
        return sum(self._every.values())


def _note(seen: dict[Any, float], key: Any, process: psutil.Process) -> None:
    with suppress(psutil.Error):
        times = process.cpu_times()
        seen[key] = times.user + times.system


def watched(project: Project, *command: str, minutes: float | None = None) -> dict[str, Any]:
    """Seconds of `python -m COMMAND`; and of each stage that it starts, with its processor time and its peak memory.

    minutes : after which it is killed with all that it started, as if the machine had gone down
    """
    began, before = time.perf_counter(), _of_children()
    process = project.start(sys.executable, "-m", *command)
    watch = Spent(process.pid)
    finished = True
    with no_orphans(process):
        try:
            output, _ = process.communicate(timeout=minutes and 60 * minutes)
        except subprocess.TimeoutExpired:
            finished = False
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    watch.end()
    if finished and process.returncode:
        raise SystemExit(f"{' '.join(command)} failed in {project.root}:\n{output[-4000:]}")
    spent = watch.processor
    stages = {
        name: (round(watch.seconds[name], 1), round(spent.get(name, 0.0), 1), round(watch.peak[name]))
        for name in watch.seconds
    }
    # The system knows the whole to the last moment, but not of processes that nobody waits for, such as decoders.
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor": round(max(watch.whole, _of_children() - before), 1),
        "dvc": round(spent.get("dvc", 0.0), 1),
        "stages": stages,
        "finished": finished,
    }


def added(portions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One run from its portions: times are added, of memory the most counts."""
    stages: dict[str, tuple[float, float, int]] = {}
    for portion in portions:
        for name, (seconds, processor, peak) in portion["stages"].items():
            so_far = stages.get(name, (0.0, 0.0, 0))
            stages[name] = (round(so_far[0] + seconds, 1), round(so_far[1] + processor, 1), max(so_far[2], peak))
    total = {key: round(sum(portion[key] for portion in portions), 1) for key in ("seconds", "processor", "dvc")}
    return {**total, "portions": len(portions), "stages": stages}


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
