"""What the checksums and syncs cost: of one large matrix, and as a share of a whole run."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from faults_kills import one_process

from mediarank import disk, store
from mediarank.types import FeatureMatrix

ROOT = Path(__file__).resolve().parents[1]


def cost(folder: Path) -> dict[str, float]:
    """Seconds to read a matrix of 100 MB with and without comparing its checksum, and to sync it to the disk."""
    ids = np.array([f"i{k:06d}" for k in range(25_000)])
    matrix = FeatureMatrix(ids, tuple(f"x{k}" for k in range(1000)), np.zeros((25_000, 1000), np.float32))
    store.write_features(folder / "m", matrix)
    began = time.perf_counter()
    store.read_features(folder / "m").values.sum()
    checked = time.perf_counter() - began
    began = time.perf_counter()
    np.load(folder / "m/values.npy", mmap_mode="r").sum()
    plain = time.perf_counter() - began
    began = time.perf_counter()
    disk.sync_folder(folder / "m")
    return {"read_100mb_s": checked, "read_100mb_unchecked_s": plain, "sync_s": time.perf_counter() - began}


def share(folder: Path, images: int = 120, clips: int = 40) -> dict[str, Any]:
    """Seconds in checksums and syncs of one run on a small demo collection, as a share of the run's seconds.

    The stages of dvc.yaml run one after the other in this process, guarded children included, so that all is counted.
    All times are the wall's, because syncs wait for the disk; checksums are also measured on the processor's clock.
    """
    import yaml

    from mediarank import seals
    from mediarank.cli import main as run_command

    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "baseline", folder / "baseline")
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["collection"] |= {"path": str(ROOT / "src/mediarank/collections/demo")}
    params["collection"]["demo"] |= {"images": images, "clips": clips}
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    plan = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    commands = [stage["cmd"].split()[1:] for stage in plan.values() if "wire" not in stage["cmd"]]
    checks = ("file_sha256", "seal_json", "open_json", "seal_parquet", "open_parquet", "seal_zip", "check_zip")
    spent = {"hash": 0.0, "sync": 0.0}
    calls = {"hash": 0, "sync": 0}
    processor = 0.0
    inside = False

    def timed(call: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            nonlocal inside, processor
            if inside:
                return call(*arguments, **options)
            inside, began, worked = True, time.perf_counter(), time.process_time()
            try:
                return call(*arguments, **options)
            finally:
                spent[kind] += time.perf_counter() - began
                calls[kind] += 1
                processor += time.process_time() - worked
                inside = False

        return wrapped

    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"MEDIARANK_JOBS": "1"}))
        stack.enter_context(chdir(folder))
        stack.enter_context(one_process())
        for name in (*checks, "open_zip", "sync", "sync_folder"):
            owner, kind = (disk, "sync") if name.startswith("sync") else (seals, "hash")
            original = getattr(owner, name)
            for module in [m for n, m in sys.modules.items() if n.startswith("mediarank")]:
                if getattr(module, name, None) is original:  # imported by its name
                    stack.enter_context(mock.patch.object(module, name, timed(original, kind)))
        began, worked = time.perf_counter(), time.process_time()
        for words in commands:
            said = io.StringIO()
            with redirect_stderr(said), redirect_stdout(said):
                stack.enter_context(mock.patch.object(sys, "argv", ["mediarank", *words]))
                try:
                    code = run_command()  # type: ignore[func-returns-value]
                except SystemExit as ended:
                    code = ended.code
            if code:
                raise RuntimeError(f"{' '.join(words)} failed: {said.getvalue()[-2000:]}")
        total, total_processor = time.perf_counter() - began, time.process_time() - worked
    return {
        "check_hash_s": round(spent["hash"], 3),
        "check_sync_s": round(spent["sync"], 3),
        "check_calls": calls,
        "run_s": round(total, 1),
        "check_share": round(sum(spent.values()) / total, 4),
        "check_processor_share": round(processor / total_processor, 4),
    }
