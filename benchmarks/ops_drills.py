"""Drills: twenty kills of a run, and a rollback of a collection of thousands of images."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from ops_project import Project, no_orphans

from mediarank.media.shards import Media
from mediarank.ops.runs.dvc_repair import repair_rwlock

SMALL = {"images": 96, "clips": 12, "seed": 3}
"""A collection that all stages get through in about a minute."""
SHARE = 0.25
"""No kill comes later after a start than this share of an undisturbed run: so all of its stages get their turn."""


def kill_drill(folder: Path, kills: int, seed: int, stages: Sequence[str] = ()) -> dict[str, int]:
    """Kill a run again and again at random moments, and compare what it comes to with an undisturbed one.

    stages : only these of dvc.yaml; by default all

    In turns the whole process group dies at once, as if the power had failed, and only DVC itself, whose stage then
    goes on working beside the rerun. A run that is finished before all kills are spent is followed by another one.
    """
    undisturbed = small_project(folder / "undisturbed", stages)
    undisturbed.commit("a small collection")
    longest = SHARE * undisturbed.dvc("repro")
    wanted = (undisturbed.root / "dvc.lock").read_bytes()
    moments = random.Random(seed)  # noqa: S311 - moments, not secrets
    survived = spent = mended = rounds = 0
    while spent < kills:
        project = Project.clone(folder / f"killed{rounds}", undisturbed.root)
        rounds += 1
        began_with = spent
        while spent < kills:
            run = project.start(sys.executable, "-m", "dvc", "repro")
            with no_orphans(run):
                output = survives(run, moments.uniform(0.5, longest))
                if output is None:
                    (os.killpg if spent % 2 else os.kill)(run.pid, signal.SIGKILL)
                    run.wait()
                    run.stdout.close()  # type: ignore[union-attr]
                elif run.returncode:
                    raise SystemExit(f"A rerun failed:\n{output}")
                else:
                    break
                spent += 1
                mended += repair_rwlock(project.root)
                print(f"  kill {spent}: {finished(project)} stages were recorded", flush=True)
        project.dvc("repro")
        project.mediarank("verify")
        same = (project.root / "dvc.lock").read_bytes() == wanted
        survived += (spent - began_with) * same
        print(f"  {spent - began_with} kills, then a rerun: {'the same bytes' if same else 'OTHER BYTES'}", flush=True)
    return {"kill_drills_survived": survived, "kill_drills": kills, "kill_drills_mended": mended}


def survives(run: subprocess.Popen[str], seconds: float) -> str | None:
    """What a run has printed if it ends within the time, or nothing if it is still at it."""
    try:
        return run.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        return None


def small_project(folder: Path, stages: Sequence[str]) -> Project:
    project = Project.clone(folder)
    project.set_params("collection", {"source": "demo", "path": "src/mediarank/collections/demo", "demo": SMALL})
    if stages:
        project.keep_stages(*stages)
    return project


def finished(project: Project) -> int:
    return project.stages if (project.root / "dvc.lock").exists() else 0


def rollback_drill(folder: Path, images: int) -> dict[str, float]:
    """Two versions of a drawn collection, one per cent of it exchanged; back to the first, and the same in a clone."""
    source = folder / "pictures"
    draw(source, range(images))
    remote = folder / "remote"
    project = Project.clone(folder / "project")
    project.keep_stages("collect", "manifest", "check_manifest", "frames")
    project.set_params("collection", {"source": "folder", "path": str(source)})
    project.call(sys.executable, "-m", "dvc", "remote", "add", "--force", "--default", "store", str(remote))
    project.dvc("repro")
    project.commit("first version", "v1")
    project.dvc("push")
    changed = max(1, images // 100)
    for number in range(changed):
        picture_path(source, number).unlink()
    draw(source, range(images, images + changed))
    project.dvc("repro")
    project.commit("second version", "v2")
    project.dvc("push")
    back = project.mediarank("rollback", "v1")
    present = len(Media(project.root / "data/raw/media"))
    if present != images:
        raise SystemExit(f"The rollback left {present} of {images} images.")
    clone = Project.clone(folder / "clone", project.root)
    return {
        "rollback_s": round(back, 2),
        "rollback_undo_s": round(project.mediarank("rollback", "v2"), 2),
        "rollback_clone_s": round(clone.mediarank("rollback", "v1"), 2),
        "rollback_images": images,
    }


def picture_path(folder: Path, number: int) -> Path:
    return folder / f"class{number % 8}" / f"{number:05d}.jpg"


def draw(folder: Path, numbers: range) -> None:
    """Tiny pictures, no two alike, of eight classes."""
    for number in numbers:
        noise = np.random.default_rng(number).integers(0, 256, size=(32, 48, 3), dtype=np.uint8)
        path = picture_path(folder, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), cv2.blur(noise, (5, 5)))
