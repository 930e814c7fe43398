"""How the pipeline grows: the same run over 1,000, 10,000 and 100,000 small drawn pictures, and search over a million.

Each size is a clone of this repository with its own folder of pictures. What was measured is in FOLDER/measured.json,
and is not measured again. With --minutes a run is killed after that time; the same command goes on where it was, and
what all portions took is added up:

    python benchmarks/scale.py --folder FOLDER --items 1000 10000
    python benchmarks/scale.py --folder FOLDER --items 100000 --parts run noop --minutes 10
    python benchmarks/scale.py --folder FOLDER --items 100000 --parts increment versions explorer
    python benchmarks/scale.py --folder FOLDER --items 1000 --parts dask
    python benchmarks/scale.py --folder FOLDER --items 10000 --parts killed
    python benchmarks/scale.py --folder FOLDER --items 10000 100000 --parts tables
    python benchmarks/scale.py --folder FOLDER --items 10000 100000 --parts source
    python benchmarks/scale.py --folder FOLDER --items 10000 40000 --parts systems
    python benchmarks/scale.py --folder FOLDER --items 1000000 --parts index search find
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import explorer
import numpy as np
from ops_project import Project, free_port
from scale_kept import Kept, watched
from scale_killed import measure as measure_killed
from scale_million import measure as measure_million
from scale_systems import measure as measure_systems
from scale_tables import measure as measure_tables

from mediarank import store
from mediarank.media.shards import Media

CLASSES = 100
INCREMENTS = 3
"""How often one per cent of new pictures is added; the median counts, because a machine's speed varies."""
SIDE = 96
FEATURES = {
    "moments": {"family": "colour_moments"},
    "lbp": {"family": "lbp", "radii": [1], "cells": 2},
    "network": {"family": "network", "layer": "pooled"},
}
RETRIEVAL = {
    "features": [*FEATURES],
    "methods": ["best_fea", "uni_con", "arow", "opar2"],
    "unlabelled": ["network"],
    "instances": 20000,
    "seed": 7,
}
MILLION = ("index", "search", "find")
PARTS = ("run", "noop", "increment", "versions", "explorer", "dask", "killed")


def draw(folder: Path, first: int, count: int) -> None:
    """Pictures of `CLASSES` kinds: a kind has its colours and its stripes, each picture its own place and noise."""
    for k in range(first, first + count):
        kind = k % CLASSES
        path = folder / f"{chr(97 + k // 1000 % 26)}{k // 1000:04d}/kind{kind:02d}" / f"{k:07d}.jpg"
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        rng, own = np.random.default_rng(k), np.random.default_rng([kind, 1])
        small = own.integers(0, 255, (3, 3, 3)) + rng.integers(-40, 40, (3, 3, 3))
        picture = cv2.resize(np.clip(small, 0, 255).astype(np.uint8), (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        step, shift = int(own.integers(5, 20)), int(rng.integers(0, 20))
        picture[:, shift::step] //= 2
        picture[int(rng.integers(0, SIDE)) :: 7] ^= 31
        cv2.imwrite(str(path), picture, (cv2.IMWRITE_JPEG_QUALITY, 80))


def prepared(folder: Path, items: int) -> Project:
    """A clone with its pictures and its settings; the one that is there, if there is one."""
    root = folder / f"project{items}"
    draw(folder / f"pictures{items}", 0, items)
    if root.exists():
        return Project(root)
    project = Project.clone(root)
    project.set_params("collection", {"source": "folder", "path": str(folder / f"pictures{items}")})
    project.set_params("features", FEATURES)
    project.set_params("base_models", {})
    project.set_params("systems", {"retrieval": RETRIEVAL})
    project.set_params("promotion", {"metric": {"retrieval": "ap"}})
    project.mediarank("wire")
    return project


def size_of(project: Project) -> tuple[int, int]:
    """Files and bytes in the outputs of stages."""
    files = [path for path in (project.root / "data").rglob("*") if path.is_file() and path.name != ".gitignore"]
    return len(files), sum(path.stat().st_size for path in files)


def versions(project: Project, folder: Path) -> dict[str, float]:
    """push, a clone that has only the remote, pull there, and a rollback there to the version before."""
    remote, clone = folder / f"{project.root.name}.remote", folder / f"{project.root.name}.clone"
    for place in (remote, clone):
        shutil.rmtree(place, ignore_errors=True)
    project.dvc("remote", "modify", "local", "url", str(remote))
    project.commit("version one", "one")
    push = project.dvc("push")
    project.set_params("evaluation", {"resamples": 500, "seed": 8})
    project.dvc("repro")
    project.commit("version two", "two")
    second = project.dvc("push")
    other = Project.clone(clone, project.root)
    pull = other.dvc("pull")
    back = other.mediarank("rollback", "one")
    wanted, found = (Media(each.root / "data/raw/media") for each in (project, other))
    assert list(wanted) == list(found)
    shutil.rmtree(clone)
    shutil.rmtree(remote)
    return {
        "push_s": round(push, 1),
        "second_push_s": round(second, 1),
        "pull_s": round(pull, 1),
        "rollback_s": round(back, 1),
    }


def explored(project: Project) -> dict[str, float]:
    """Seconds to the first page of the explorer, and milliseconds of pages on the whole collection."""
    port = free_port()
    command = [sys.executable, "-m", "mediarank", "explore", "--port", str(port)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=project.root, env=project.environment, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                status, _ = explorer.Client(port).get("/")
                break
            except OSError:
                assert process.poll() is None, "the explorer ended"
                time.sleep(0.05)
        start = time.perf_counter() - began
        assert status == 200
        client = explorer.Client(port)
        items = list(Media(project.root / "data/raw/media"))[:: len(Media(project.root / "data/raw/media")) // 8]
        client.get(f"/search?item={items[0]}")
        return {
            "explorer_start_s": round(start, 1),
            "first_page_ms": round(explorer.median_ms(client, ["/"] * 3)),
            "grid_ms": round(explorer.median_ms(client, [f"/grid?class=kind{k:02d}&start=0" for k in range(5)])),
            "thumbnail_ms": round(explorer.median_ms(client, [f"/thumbnail?item={item}" for item in items]), 1),
            "page_search_ms": round(explorer.median_ms(client, [f"/search?item={item}" for item in items[1:6]])),
        }
    finally:
        process.terminate()
        process.wait(30)


def on_dask(project: Project, folder: Path) -> bool:
    """Whether two workers in directories of their own, which name no file of the project, give the same vectors."""
    address = f"tcp://127.0.0.1:{free_port()}"
    told = ["--no-dashboard", "--host", "127.0.0.1"]
    homes = [folder / name for name in ("scheduler", "one", "two")]
    for home in homes:
        home.mkdir(exist_ok=True)
    module = [sys.executable, "-m"]
    commands = [[*module, "distributed.cli.dask_scheduler", "--port", address.rpartition(":")[2], *told]]
    commands += [[*module, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]] * 2
    kept = project.root / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    (project.root / "data/features").rename(kept)
    shutil.move(project.root / ".mediarank/cache", folder / "cache.kept")
    running = []
    try:
        for home, command in zip(homes, commands, strict=True):
            with (home / "log").open("w") as log:
                running.append(subprocess.Popen(command, cwd=home, stdout=log, stderr=log))
        for name in FEATURES:
            project.call(
                *module, "mediarank", "features", name, env={**project.environment, "MEDIARANK_CLUSTER": address}
            )
        same = [
            (kept / name / "values.npy").read_bytes()
            == (project.root / "data/features" / name / "values.npy").read_bytes()
            for name in FEATURES
        ]
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)
        shutil.rmtree(project.root / "data/features", ignore_errors=True)
        kept.rename(project.root / "data/features")
        shutil.rmtree(project.root / ".mediarank/cache", ignore_errors=True)
        shutil.move(folder / "cache.kept", project.root / ".mediarank/cache")
    return all(same)


def fingerprinted(folder: Path, items: int) -> dict[str, float]:
    """What DVC needs for a stage that depends on a folder of so many files: at first, and with nothing to do."""
    source, root = folder / "source", folder / "dvc"
    root.mkdir()
    for k in range(items):
        path = source / f"{k // 1000:05d}" / f"{k:08d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % k)
    project = Project(root)
    project.git("init", "--quiet")
    project.dvc("init", "--quiet")
    (root / "dvc.yaml").write_text(f"stages: {{collect: {{cmd: 'echo x > out', deps: ['{source}'], outs: [out]}}}}\n")
    first, again = (watched(project, "dvc", "repro") for _ in range(2))
    return {"first_processor_s": first["processor"], "noop_processor_s": again["processor"], "noop_s": again["seconds"]}


TABLES = {"tables": measure_tables, "source": fingerprinted, "systems": measure_systems}


def measure(folder: Path, items: int, parts: list[str], kept: Kept, minutes: float | None) -> None:
    project = prepared(folder, items)
    if "run" in parts:
        kept.in_portions(f"run_{items}", lambda: watched(project, "dvc", "repro", minutes=minutes))
        kept.once(f"size_{items}", lambda: size_of(project))
        path = project.root / "data/evaluation/retrieval/metrics.json"
        kept.once(f"map_{items}", lambda: {m: round(v["map"], 3) for m, v in store.read_json(path).items()})
    if "noop" in parts:
        kept.once(f"noop_{items}", lambda: round(min(project.dvc("repro") for _ in range(2)), 1))
    if "dask" in parts:
        kept.once("dask_same_bytes", lambda: on_dask(project, folder))
    if "killed" in parts:
        kept.once(f"killed_{items}", lambda: measure_killed(project, folder, "network"))
    if "explorer" in parts:
        kept.once(f"explorer_{items}", lambda: explored(project))
    if "increment" in parts:
        # As people do it; `dvc repro` starts a process per stage anew, which costs about a second each.
        run = ("mediarank", "run", "--no-track", "--jobs", "1")
        for k in range(INCREMENTS):
            one_percent = max(1, items // 100)
            draw(folder / f"pictures{items}", items + k * one_percent, one_percent)
            kept.in_portions(f"increment_{items}_{k + 1}", lambda: watched(project, *run, minutes=minutes))
    if "versions" in parts:
        kept.once(f"versions_{items}", lambda: versions(project, folder))


def summary(kept: dict[str, Any]) -> dict[str, Any]:
    sizes = sorted(int(name.removeprefix("run_")) for name in kept if name.startswith("run_"))
    per_item = {str(n): round(1000 * kept[f"run_{n}"]["processor"] / n, 2) for n in sizes}
    found: dict[str, Any] = {
        "per_item_ms": per_item,  # processor time
        "wall_s": {str(n): kept[f"run_{n}"]["seconds"] for n in sizes},
    }
    million: dict[str, Any] = {}
    for name in (name for name in kept if name.partition("_")[0] in MILLION):
        million |= kept[name]
    if not sizes:
        return {**found, **million}
    large = sizes[-1]
    files, size = kept[f"size_{large}"]
    increments = [kept[name]["processor"] for name in kept if name.startswith(f"increment_{large}_")]
    if len(sizes) > 1:
        found["growth"] = round(per_item[str(large)] / per_item[str(sizes[-2])], 2)
    found |= {
        "peak_mb": max(peak for _, _, peak in kept[f"run_{large}"]["stages"].values()),
        "noop_s": kept.get(f"noop_{large}"),
        "one_percent_fraction": round(median(increments) / kept[f"run_{large}"]["processor"], 3)
        if increments
        else None,
        "bytes_per_item": round(size / large),
        "files": files,
        "dask_same_bytes": kept.get("dask_same_bytes"),
    }
    found |= kept.get(f"versions_{large}", {}) | kept.get(f"explorer_{large}", {})
    return found | million


def table(kept: dict[str, Any]) -> None:
    """Seconds by the clock and by the processor, and peak memory, of each stage at each size."""
    sizes = sorted(int(name.removeprefix("run_")) for name in kept if name.startswith("run_"))
    print(f"\n{'stage':<24}" + "".join(f"{f'{n:,} items':>30}" for n in sizes))
    for stage in kept[f"run_{sizes[-1]}"]["stages"] if sizes else ():
        cells = [kept[f"run_{n}"]["stages"].get(stage) for n in sizes]
        print(f"{stage:<24}" + "".join(f"{f'{c[0]:.1f} s, {c[1]:.1f} s, {c[2]:,} MB' if c else '':>30}" for c in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where projects and figures are kept")
    parser.add_argument("--items", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, *MILLION, *TABLES], default=["run", "noop"])
    parser.add_argument("--minutes", type=float, help="after which a run is killed, to be continued")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    folder = given.folder.resolve()
    kept = Kept(folder / "measured.json")
    for items in given.items:
        if given.parts[0] in TABLES:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                part, place = given.parts[0], Path(scratch)
                kept.once(f"{part}_{items}", lambda items=items, part=part, place=place: TABLES[part](place, items))
        elif set(given.parts) & set(MILLION):
            for part in given.parts:  # one by one, so that each is kept
                kept.once(f"{part}_{items}", lambda items=items, part=part: measure_million(folder, items, [part]))
        else:
            measure(folder, items, given.parts, kept, given.minutes)
    table(kept.values)
    print(json.dumps(summary(kept.values)))


if __name__ == "__main__":
    main()
