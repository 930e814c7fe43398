"""A clone of this repository in which tests run the whole pipeline, on a small collection and a few feature types."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from mediarank.ops.services.environment import quiet_environment

ROOT = Path(__file__).parents[1]
SMALL = {"images": 96, "clips": 48, "seed": 3}
IMAGE_FEATURES = ("lab_thirds", "hog")
CLASSIFIERS = ["motion", "objects", "scene", "sound"]
WORDS = 40
"""Of codebooks, whose fit would take most of the time."""
FEATURES = (*IMAGE_FEATURES, "gist_frames", "motion", "sound")


def call(project: Path, *command: str, jobs: int = 1) -> str:
    """Run a command in the project, with its own environment; its output, or an error that shows it."""
    environment = os.environ | quiet_environment(project) | {
        "MEDIARANK_JOBS": str(jobs),
        "MEDIARANK_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    environment.pop("PREFECT_API_URL", None)
    done = subprocess.run(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def git(project: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    return call(project, "git", *identity, *arguments)


def fresh_project(folder: Path) -> Path:
    """A clone of this repository as it is in the working tree, with a small demo collection."""
    folder.mkdir()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    change_params(folder, "collection", "demo", SMALL)
    keep_features(folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a project")
    return folder


def change_params(project: Path, section: str, key: str | None, value: object) -> None:
    """Set a section's key, or the whole section."""
    path = project / "params.yaml"
    values = yaml.safe_load(path.read_text())
    if key is None:
        values[section] = value
    else:
        values[section][key] = value
    path.write_text(yaml.safe_dump(values, sort_keys=False))


def keep_features(project: Path) -> None:
    """A few feature types are enough here."""
    params = yaml.safe_load((project / "params.yaml").read_text())
    for section in ("features", "base_models"):
        kept = {name: settings for name, settings in params[section].items() if name in FEATURES}
        change_params(project, section, None, kept)
    for name in ("motion", "sound"):
        change_params(project, "features", name, {**params["features"][name], "words": WORDS})
    change_params(project, "evaluation", "resamples", 100)
    systems = params["systems"]
    systems["concepts"] |= {"base_models": list(IMAGE_FEATURES), "rounds": 20, "lambdas": [], "cost_weights": [0.0]}
    systems["events"] |= {"base_models": ["gist_frames"], "repeats": 5, "classifiers": CLASSIFIERS}
    del systems["events"]["network"]
    systems["retrieval"] |= {"class_scores": [], "unlabelled": []}
    systems["retrieval"] |= {"features": list(IMAGE_FEATURES), "instances": 5000}
    systems["attributes"] |= {"kernels": [{"feature": name} for name in IMAGE_FEATURES], "folds": 3, "max_pairs": 500}
    systems["annotation"] |= {"features": list(IMAGE_FEATURES), "methods": ["jec", "rnn", "2pknn"], "folds": 2}
    change_params(project, "systems", None, systems)
    call(project, sys.executable, "-m", "mediarank", "wire")


def run(project: Path) -> str:
    return call(project, sys.executable, "-m", "mediarank", "run", "--no-track", jobs=2)
