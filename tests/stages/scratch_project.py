"""A copy of this repository in which tests change params.yaml and the code, with its own git and DVC."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from process_state import restored

ROOT = Path(__file__).parents[2]
COPIED = (
    "src",
    "bin",
    "baseline",
    "labels",
    "params.yaml",
    "dvc.yaml",
    ".dvc",
    ".dvcignore",
    ".gitignore",
    "data/.gitignore",
)


def make(folder: Path) -> Path:
    """What git lists below COPIED, as it is in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *COPIED], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for compiled in (ROOT / "src").rglob("__pycache__/*.nb[ic]"):  # numba's: kernels need not be compiled again
        kept = folder / compiled.relative_to(ROOT)
        kept.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, kept)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    return folder


def run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a module's command line (`mediarank …`, `dvc …`) with the project's own code."""
    environment = os.environ | {
        "PYTHONPATH": str(project / "src"),
        "MEDIARANK_PYTHON": sys.executable,
        "MEDIARANK_JOBS": "1",
        "DVC_NO_ANALYTICS": "1",
    }
    environment.pop("DVC_STAGE", None)
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def must_run(project: Path, *command: str) -> str:
    done = run(project, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def params(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project / "params.yaml").read_text())
    return found


def write_params(project: Path, values: Mapping[str, Any]) -> None:
    (project / "params.yaml").write_text(yaml.safe_dump(dict(values), sort_keys=False))


def stages(project: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((project / "dvc.yaml").read_text())["stages"]
    return found


def status(project: Path, *targets: str) -> dict[str, Any]:
    """What `dvc status` says, in this process: starting Python and importing DVC would take most of the time."""
    with restored():  # DVC sets up logging for the whole process
        from dvc.repo import Repo

        os.chdir(project)  # stages elsewhere have longer names
        with Repo() as repo:
            found: dict[str, Any] = repo.status(targets=list(targets))
    return found


def changed(project: Path) -> set[str]:
    """The stages that `dvc status` lists because something that they read has changed."""
    return {
        stage
        for stage, entries in status(project).items()
        if any("changed deps" in entry for entry in entries if isinstance(entry, dict))
    }
