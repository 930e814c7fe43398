"""Scratch clones of this repository to run the pipeline in, and a watch on the memory of its stages."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from mediarank.ops.services.environment import quiet_environment

REPOSITORY = Path(__file__).resolve().parents[1]
IDENTITY = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True)
class Project:
    """A clone of the repository's last commit, run by this very Python with the clone's own code."""

    root: Path

    @classmethod
    def clone(cls, folder: Path, origin: Path = REPOSITORY) -> Project:
        subprocess.run(["git", "clone", "--quiet", str(origin), str(folder)], check=True)
        return cls(folder)

    @property
    def environment(self) -> dict[str, str]:
        """As users have it: without settings of this shell, such as one that has every process compile all modules."""
        strange = ("PREFECT_", "MLFLOW_", "mediarank_", "PYTHON")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(strange)}
        ports = {f"MEDIARANK_{name}_PORT": str(free_port()) for name in ("PREFECT", "MLFLOW", "EXPLORER")}
        return inherited | quiet_environment(self.root) | ports | {
            "MEDIARANK_PYTHON": sys.executable,
            "PYTHONPATH": str(self.root / "src"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip

    def start(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        """A command in a session of its own, so that it can be killed with all that it started."""
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=more.pop("env", self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **more,
        )

    def call(self, *command: str, env: Mapping[str, str] | None = None) -> float:
        """Seconds that a command takes; one that fails ends the benchmark, with its output."""
        began = time.perf_counter()
        process = self.start(*command, **({"env": dict(env)} if env else {}))
        with no_orphans(process):
            output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed in {self.root}:\n{output}")
        return time.perf_counter() - began

    def dvc(self, *arguments: str) -> float:
        return self.call(sys.executable, "-m", "dvc", *arguments)

    def mediarank(self, *arguments: str) -> float:
        return self.call(sys.executable, "-m", "mediarank", *arguments)

    def git(self, *arguments: str) -> float:
        return self.call("git", *IDENTITY, *arguments)

    def commit(self, message: str, tag: str = "") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        if tag:
            self.git("tag", tag)

    def set_params(self, section: str, value: Any) -> None:
        path = self.root / "params.yaml"
        values = yaml.safe_load(path.read_text())
        values[section] = value
        path.write_text(yaml.safe_dump(values, sort_keys=False))

    def forget(self) -> None:
        """Remove all results, and all that DVC and we remember of them."""
        for folder in ("data", ".dvc/cache", ".dvc/tmp", ".mediarank"):
            shutil.rmtree(self.root / folder, ignore_errors=True)
        (self.root / "dvc.lock").unlink(missing_ok=True)

    def keep_stages(self, *names: str) -> None:
        path = self.root / "dvc.yaml"
        stages = yaml.safe_load(path.read_text())["stages"]
        path.write_text(yaml.safe_dump({"stages": {name: stages[name] for name in names}}, sort_keys=False))

    @property
    def stages(self) -> int:
        return len(yaml.safe_load((self.root / "dvc.lock").read_text())["stages"])


@contextmanager
def no_orphans(process: subprocess.Popen[str]) -> Iterator[None]:
    """If we are ended on the way, so is what the process has started."""
    try:
        yield
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Watch:
    """Peak memory and time of each stage while a command runs: resident megabytes of the stage and all its children."""

    def __init__(self, pid: int, pause: float = 0.1) -> None:
        self.peak: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self._process = psutil.Process(pid)
        self._pause = pause
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(self._pause):
            try:
                for stage, process in self._stages():
                    family = [process, *process.children(recursive=True)]
                    used = sum(member.memory_info().rss for member in family) / 1e6
                    self.peak[stage] = max(self.peak.get(stage, 0.0), used)
                    self.seconds[stage] = max(self.seconds.get(stage, 0.0), time.time() - process.create_time())
            except psutil.Error:  # someone has just ended
                continue

    def _stages(self) -> list[tuple[str, psutil.Process]]:
        found = []
        for process in self._process.children(recursive=True):
            words = process.cmdline()
            if "mediarank" in words[:4] and "-m" in words[:3]:
                found.append(("-".join(words[words.index("mediarank") + 1 :]), process))
        return found
