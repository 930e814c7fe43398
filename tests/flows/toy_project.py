"""A DVC project of a few text files, shaped like the real one: a source, a foreach, a diamond, a report.

    source -> sides@left, sides@right -> join -> report

Its stages are real processes. Files outside DVC's sight tell them how to behave: `broken` names stages that fail,
`hold` a stage that waits until it is killed, `pause` one that waits until that file is gone, `meet` makes both sides
wait for each other, which only two processes that run at the same time survive.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
STAGES = ("source", "sides@left", "sides@right", "join", "report")

PLAN = f"""\
stages:
  source:
    cmd: {sys.executable} work.py source data/source.txt
    params: [source]
    outs: [data/source.txt]
  sides:
    foreach: [left, right]
    do:
      cmd: {sys.executable} work.py ${{item}} data/${{item}} data/source.txt
      deps: [data/source.txt]
      params: ["${{item}}"]
      outs: ["data/${{item}}"]
  join:
    cmd: {sys.executable} work.py join data/join.txt data/left/text data/right/text
    deps: [data/left, data/right]
    params: [join]
    outs: [data/join.txt]
  report:
    cmd: {sys.executable} work.py report data/report/report.html data/join.txt
    deps: [data/join.txt]
    params: [report]
    outs: [data/report/report.html]
"""
PARAMS = "source: 1\nleft: 2\nright: 3\njoin: 4\nreport: 5\n"

WORK = """\
import os, pathlib, subprocess, sys, time
import yaml

name, target, *inputs = sys.argv[1:]
here = pathlib.Path()
with (here / "ran.log").open("a") as log:
    log.write(name + "\\n")
print(f"{name} speaks", flush=True)
if (here / "hold").exists() and name == (here / "hold").read_text():
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (here / "pids.part").write_text(f"{os.getpid()} {grandchild.pid}")
    (here / "pids.part").rename(here / "pids")
    time.sleep(600)
if (here / "pause").exists() and name == (here / "pause").read_text():
    (here / f"{name}.here").touch()
    while (here / "pause").exists():
        time.sleep(0.05)
if (here / "meet").exists() and name in ("left", "right"):
    (here / f"{name}.here").touch()
    other = here / ("right.here" if name == "left" else "left.here")
    for _ in range(4000):
        if other.exists():
            break
        time.sleep(0.05)
    else:
        sys.exit(f"{name} was alone")
if name in ((here / "broken").read_text().split() if (here / "broken").exists() else ()):
    sys.exit(f"{name} refuses: 3 of 40 rows have no label; add them to labels.csv")
number = yaml.safe_load((here / "params.yaml").read_text())[name]
text = "".join(pathlib.Path(i).read_text() for i in inputs) + f"{name}={number}\\n"
path = here / target / "text" if name in ("left", "right") else here / target
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(text)
"""


def make(folder: Path) -> Path:
    """A project that has never been run."""
    folder.mkdir(parents=True)
    (folder / "dvc.yaml").write_text(PLAN)
    (folder / "params.yaml").write_text(PARAMS)
    (folder / "work.py").write_text(WORK)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "--quiet"], cwd=folder, check=True)
    return folder


def copy(project: Path, target: Path) -> Path:
    shutil.copytree(project, target, symlinks=True)
    return target


def with_flows(project: Path) -> Path:
    """The project with the flows of the repository in it, and what they are deployed as."""
    shutil.copytree(REPOSITORY / "flows", project / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(REPOSITORY / "prefect.yaml", project)
    return project


def plain_repro(project: Path) -> None:
    subprocess.run([sys.executable, "-m", "dvc", "repro", "--quiet"], cwd=project, check=True)


def contents(project: Path) -> dict[str, bytes]:
    """Everything a run makes, as bytes: the outputs and dvc.lock."""
    made = [path for path in (project / "data").rglob("*") if path.is_file()]
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in [*made, project / "dvc.lock"]}


def ran(project: Path) -> list[str]:
    """The stages whose commands were run, in the order they began."""
    log = project / "ran.log"
    return log.read_text().split() if log.exists() else []


def change(project: Path, name: str, number: int) -> None:
    lines = (project / "params.yaml").read_text().splitlines()
    lines = [f"{name}: {number}" if line.startswith(f"{name}:") else line for line in lines]
    (project / "params.yaml").write_text("\n".join(lines) + "\n")


def gone(pid: int) -> bool:
    """Whether no process has this id, or only one that waits to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end while this is read
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
