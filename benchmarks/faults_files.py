"""Every kind of file that we write: failing and killed writes, and the states of a crash."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from faults_crash import CrashStates, fail_at, kill_at
from PIL import Image

from mediarank import store
from mediarank.collections.sources import CollectionConfig
from mediarank.labels import Labels
from mediarank.media.files import Held
from mediarank.media.shards import Cuts, Media, ShardWriter
from mediarank.stages import collect
from mediarank.teaching.journal import Journal, statements_of_call
from mediarank.types import FeatureMatrix, MediarankError


def write_features(path: Path, value: float) -> None:
    ids = np.array([f"item {k}" for k in range(40)])
    values = np.random.default_rng(int(value)).normal(size=(40, 8)).astype(np.float32)
    store.write_features(path, FeatureMatrix(ids, tuple("abcdefgh"), values), {"value": value})


def read_features(path: Path) -> Any:
    found = store.read_features(path)
    return [found.ids.tolist(), found.names, found.values.tolist(), store.read_json(path / "meta.json")]


def table(value: float) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"i{k}" for k in range(60)], "x": np.arange(60) * value, "n": range(60)})


def write_model(path: Path, value: float) -> None:
    matrix = FeatureMatrix(np.array(["a", "b"]), ("x",), np.full((2, 1), value, np.float32))
    store.write_outcome(path, {"w": np.full(20, value)}, {"method": "m", "value": value}, {"m": matrix})


def read_model(path: Path) -> Any:
    arrays = {name: array.tolist() for name, array in store.read_arrays(path / "model.npz").items()}
    return [arrays, store.read_json(path / "model.json"), store.read_scores(path)["m"].values.tolist()]


def write_labels(path: Path, value: float) -> None:
    store.write_labels(path, Labels({"classes": pd.DataFrame({"item": ["a", "b"], "class": [str(value), "sea"]})}))


def write_measured(path: Path, value: float) -> None:
    with store.atomic_folder(path) as folder:
        store.write_measured(folder, {"m": {"map": value}}, table(value), table(value), table(value))


def write_shards(path: Path, value: float) -> None:
    """Three files in shards, as `collect` and `frames` write them."""
    with store.atomic_folder(path) as folder, ShardWriter(folder, Cuts(least=1, mean=1, most=4096)) as shards:
        for k in range(3):
            content = bytes([k, int(value)]) * (200 + k)
            shards.add(f"{k}.bin", Held(f"{k}.bin", content), len(content), hashlib.sha256(content).hexdigest())


def read_shards(path: Path) -> Any:
    media = Media(path)
    return {name: media[name].read_bytes() for name in media}


def say(path: Path, value: float) -> None:
    """Append a statement to a journal that has one already; the value 1 begins a new journal."""
    if value == 1.0:
        shutil.rmtree(path, ignore_errors=True)
    elif not path.exists():
        say(path, 1.0)
    row = {"kind": "concept", "item": "a.png", "sha256": "0" * 64, "name": f"{value}", "value": True}
    Journal(path).append(statements_of_call("drill", "cli", [row]))


def said(path: Path) -> Any:
    return {statement.name for statement in Journal(path).read().statements}


def run_collect(path: Path, value: float) -> None:
    """The stage `collect`, of a small folder of pictures that `value` decides."""
    source = path.parents[2] / f"source {value}"
    if not source.exists():
        for k in range(4):
            (source / f"class {k % 2}").mkdir(parents=True, exist_ok=True)
            pixels = np.full((8, 8, 3), int(value) * 10 + k, np.uint8)
            Image.fromarray(pixels).save(source / f"class {k % 2}/{k}.png")
    with redirect_stderr(io.StringIO()):  # its notes about the folder, once per kill
        collect.run(CollectionConfig("folder", str(source)), path, path.parents[2] / "cache")


WRITERS: dict[str, tuple[Callable[[Path, float], None], Callable[[Path], Any]]] = {
    "json": (lambda p, v: store.write_json(p, {"value": v, "list": [1, 2, None]}), store.read_json),
    "parquet": (lambda p, v: store.write_table(p, table(v)), lambda p: store.read_table(p).to_json()),
    "npz": (
        lambda p, v: store.write_arrays(p, {"w": np.full(50, v), "b": np.arange(9)}),
        lambda p: {name: array.tolist() for name, array in store.read_arrays(p).items()},
    ),
    "features": (write_features, read_features),
    "model": (write_model, read_model),
    "labels": (write_labels, lambda p: store.read_labels(p)["classes"].to_json()),
    "measured": (write_measured, lambda p: [str(part) for part in store.read_measured(p)]),
    "shards": (write_shards, read_shards),
    "journal": (say, said),
}


def faults(folder: Path, kind: str) -> dict[str, int]:
    """Let each step of a write fail: an error, and the old or the new value."""
    tried = lost = silent = 0
    write, read = WRITERS[kind]
    for code in (errno.ENOSPC, errno.EIO, errno.EMFILE):
        target, step = folder / kind / str(code) / "target", 0
        write(folder / kind / "old", 1.0)
        write(folder / kind / "new", 2.0)
        old, new = read(folder / kind / "old"), read(folder / kind / "new")
        reached = True
        while reached:
            write(target, 1.0)
            raised = False
            with fail_at(step, code) as count:
                try:
                    write(target, 2.0)
                except (OSError, MediarankError):
                    raised = True
            reached = count[0] > step
            tried += reached
            try:
                found = read(target)
                lost += found not in (old, new)
                silent += not raised and found != new
            except MediarankError:
                lost += 1
            step += 1
    return {"io_faults": tried, "io_lost": lost, "io_silent": silent}


# Statements have ids and times of their own; `label add` and `feedback add` are killed in `faults_killed`.
KILLED_WRITERS = {kind: write for kind, (write, _) in WRITERS.items() if kind != "journal"} | {"collect": run_collect}


def kills(folder: Path, kind: str) -> dict[str, int]:
    """Kill a writer at each step, write again: the same bytes, and nothing left over."""
    tried = other = left = 0
    write = KILLED_WRITERS[kind]
    write(folder / kind / "reference/target", 2.0)
    wanted = contents(folder / kind / "reference")
    step, killed = 0, True
    while killed:
        home = folder / kind / "home"
        shutil.rmtree(home, ignore_errors=True)
        write(home / "target", 1.0)
        child = os.fork()
        if child == 0:
            with kill_at(step):
                write(home / "target", 2.0)
            os._exit(0)
        killed = os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        write(home / "target", 2.0)
        tried += killed
        other += {name: data for name, data in contents(home).items() if name in wanted} != wanted
        left += len(contents(home).keys() - wanted.keys()) + (len(list(home.iterdir())) != 1)
        step += 1
    return {"kill_points": tried, "kill_other_bytes": other, "kill_leftovers": left}


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def crash(folder: Path, kind: str) -> dict[str, int]:
    """Every state that a kill or a power failure leaves is the old or the new value."""
    states = neither = 0
    write, read = WRITERS[kind]
    home = folder / kind / "home"
    write(home / "target", 1.0)
    old = read(home / "target")
    recorded = CrashStates(home, folder / kind / "states")
    with recorded.recorded():
        write(home / "target", 2.0)
    new = read(home / "target")
    for state in (folder / kind / "states").iterdir():
        states += 1
        try:
            neither += read(state / "target") not in (old, new)
        except MediarankError:
            neither += 1
    return {"crash_states": states, "crash_neither": neither}
