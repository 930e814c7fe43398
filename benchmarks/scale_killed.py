"""How much work is lost when `features` is killed again and again until it is done; part of scale.py."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from ops_project import Project, no_orphans

from mediarank.features.cache import FeatureCache

PAUSES = (10.0, 40.0)
"""Seconds from a start to the kill, drawn between these."""


def measure(project: Project, folder: Path, feature: str) -> dict[str, float]:
    """Kills, and the most seconds between the last result that was kept and a kill; without the cache at first.

    The vectors must be those of the undisturbed run.
    """
    values = project.root / f"data/features/{feature}/values.npy"
    wanted, cache = values.read_bytes(), project.root / ".mediarank/cache"
    lost: list[float] = []
    rng = np.random.default_rng(0)
    shutil.move(cache, folder / "cache.kept")
    try:
        while (found := _lost(project, FeatureCache(cache / "features"), feature, rng.uniform(*PAUSES))) is not None:
            lost.append(found)
            print(f"killed: {found:.1f} s of work were not kept", flush=True)
        assert values.read_bytes() == wanted, "a killed run gave other vectors"
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        shutil.move(folder / "cache.kept", cache)
    return {"kills": len(lost), "lost_s": round(max(lost, default=0.0), 1)}


def _lost(project: Project, cache: FeatureCache, feature: str, seconds: float) -> float | None:
    """Run it and kill it after so many seconds: how many of them were lost; None if it was done before."""
    began = time.time()
    process = project.start(sys.executable, "-m", "mediarank", "features", feature)
    with no_orphans(process):
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            now = time.time()
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            written = (path.stat().st_mtime for path in cache.folder.glob(f"{cache.file}*"))
            return now - max((began, *written))
    if process.returncode:
        raise SystemExit(f"features {feature} failed in {project.root}:\n{output[-4000:]}")
    return None
