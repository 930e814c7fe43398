"""Nothing lost, nobody in: faults of the machine, flipped bits, kills, crash states, damaged media, open ports.

    python benchmarks/faults.py                       # all parts, about an hour on two cores
    python benchmarks/faults.py --parts flips crash   # some of them
    python benchmarks/faults.py --mutants 2400        # fewer damaged files
    python benchmarks/faults.py --parts stages --most 20   # kill each stage and command at 20 of its steps

Each part prints a line; the last line is one JSON object. What must be 0 and is not is listed in `failed`, and the exit
code is 1. Everything happens in a temporary folder and on loopback.
"""

from __future__ import annotations

import argparse
import errno
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from faults_bodies import endure, hostile_bodies, one, served
from faults_crash import CrashStates, fail_at, kill_at
from faults_kills import in_child, kill_all, make, one_process
from faults_media import decode_mutant, originals
from PIL import Image

from mediarank import disk, store
from mediarank.collections.sources import CollectionConfig
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.labels import Labels
from mediarank.media.confine import Confinement
from mediarank.media.guard import Failed, guarded_map
from mediarank.stages import collect
from mediarank.types import FeatureMatrix, MediarankError

ROOT = Path(__file__).resolve().parents[1]
ZERO = ("io_lost", "io_silent", "flips_silent", "kill_other_bytes", "kill_leftovers", "mutant_crashes")
ZERO += ("probed_server_deaths", "cross_origin_changes", "server_deaths", "bodies_answered_wrongly")
SUMMED = ("kill_points", "kill_other_bytes", "kill_leftovers")
"""Figures that more than one part adds to."""
MOST_CHECK_SHARE = 0.03


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


def run_collect(path: Path, value: float) -> None:
    """The stage `collect`, of a small folder of pictures that `value` decides."""
    source = path.parents[2] / f"source {value}"
    if not source.exists():
        for k in range(4):
            (source / f"class {k % 2}").mkdir(parents=True, exist_ok=True)
            pixels = np.full((8, 8, 3), int(value) * 10 + k, np.uint8)
            Image.fromarray(pixels).save(source / f"class {k % 2}/{k}.png")
    with redirect_stderr(io.StringIO()):  # its notes about the folder, once per kill
        collect.run(CollectionConfig("folder", str(source)), path)


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
}


def flips(folder: Path, each: int) -> dict[str, Any]:
    """Flip one bit at a time: an error of ours, or the very same value."""
    rng = np.random.default_rng(1)
    tried: dict[str, int] = {}
    silent = 0
    formats = {"parquet": "parquet", "npy": "features", "npz": "npz", "json": "json"}
    for kind, writer in formats.items():
        write, read = WRITERS[writer]
        path = folder / kind
        write(path, 3.0)
        value = read(path)
        file = path / "values.npy" if kind == "npy" else path
        content = file.read_bytes()
        for place, bit in zip(rng.integers(0, len(content), each), rng.integers(0, 8, each), strict=True):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            file.write_bytes(damaged)
            with suppress(MediarankError):
                silent += read(path) != value
        tried[kind] = each
    tried["cache"], wrong = flip_cache(folder / "cache", each, rng)
    return {"flips": tried, "flips_silent": silent + wrong}


def flip_cache(folder: Path, each: int, rng: np.random.Generator) -> tuple[int, int]:
    cache = FeatureCache(folder)
    vectors = {cache_key("f", str(k)): rng.normal(size=30).astype(np.float32) for k in range(30)}
    cache.put("f", vectors)
    cache.prune(limit=10**9)
    content = cache.path.read_bytes()
    wrong = 0
    for place, bit in zip(rng.integers(0, len(content), each), rng.integers(0, 8, each), strict=True):
        for path in folder.iterdir():
            path.unlink()
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        cache.path.write_bytes(damaged)
        found = cache.get(vectors)
        wrong += any(not np.array_equal(array, vectors[key]) for key, array in found.items())
    return each, wrong


def faults(folder: Path) -> dict[str, int]:
    """Let each step of each write fail: an error, and the old or the new value."""
    tried = lost = silent = 0
    for kind, (write, read) in WRITERS.items():
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


def kills(folder: Path) -> dict[str, int]:
    """Kill the writer at each step, write again: the same bytes, and nothing left over."""
    tried = other = left = 0
    writers = {kind: write for kind, (write, _) in WRITERS.items()} | {"collect": run_collect}
    for kind, write in writers.items():
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


def crash(folder: Path) -> dict[str, int]:
    """Every state that a kill or a power failure leaves is the old or the new value."""
    states = neither = 0
    for kind, (write, read) in WRITERS.items():
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


def media(folder: Path, count: int) -> dict[str, Any]:
    """Decode damaged files: each is decoded or refused with a reason; a crash of the decoder is counted."""
    folder.mkdir()
    sources = originals(folder / "originals")
    work = partial(decode_mutant, sources=sources, folder=folder)
    allowed = Confinement((folder,), (folder,))
    outcomes = guarded_map(work, range(count), "damaged files", 60, confinement=allowed)
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)]
    crashes = [reason for reason in reasons if "crashed" in reason or "took more" in reason or "Error: " in reason]
    for reason in crashes[:5]:
        print(f"  {reason}")
    formats = sorted(source.suffix[1:] for source in sources)
    return {
        "mutants": count,
        "mutant_formats": formats,
        "mutants_refused": len(reasons),
        "mutant_crashes": len(crashes),
    }


def doors(folder: Path) -> dict[str, int]:
    """Ask the servers of `make up` from another page and by another name: count what changes or can be read."""
    from mediarank.ops.services import access, local, processes

    folder.mkdir()
    for name in ("MEDIARANK_PREFECT_PORT", "MEDIARANK_MLFLOW_PORT", "MEDIARANK_EXPLORER_PORT"):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            os.environ[name] = str(probe.getsockname()[1])
    (folder / "prefect.yaml").write_text("deployments: []\n")
    wanted = [service for service in local.services(folder) if service.port]
    records = {}
    changes = deaths = 0
    entry = access.authorization(access.prefect_access(folder))
    try:
        for service in wanted:
            service.prepare()
            records[service.name] = processes.launch(
                folder, service.name, service.command, service.address, service.variables
            )
        deadline = time.monotonic() + 240
        for service in wanted:
            while not service.answers(records[service.name]):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{service.what} does not answer:\n{processes.tail(records[service.name])}")
                time.sleep(0.3)
        makes = {
            "prefect": ("/api/variables/", {"name": "evil", "value": "1"}),
            "mlflow": ("/api/2.0/mlflow/experiments/create", {"name": "evil"}),
        }
        foreign = [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}]
        for service in wanted:
            path, body = makes[service.name]
            for headers in foreign:
                for kind in ("application/json", "text/plain"):
                    status, found = ask(service.port, "POST", path, {**headers, **entry, "Content-Type": kind}, body)
                    changes += status < 400 or "access-control-allow-origin" in found
                status, found = ask(service.port, "OPTIONS", path, {**headers, "Access-Control-Request-Method": "POST"})
                changes += found.get("access-control-allow-origin") is not None
                if "Host" in headers:
                    changes += ask(service.port, "GET", "/api/version", {**headers, **entry})[0] < 400
            deaths += not records[service.name].alive
        status, _ = ask(wanted[0].port, "POST", "/api/variables/filter", {"Content-Type": "application/json"}, {})
        changes += status != 401
    finally:
        for record in records.values():
            processes.end(record)
    return {"cross_origin_changes": changes, "probed_server_deaths": deaths}


def ask(port: int, method: str, path: str, headers: dict[str, str], body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers


def packages() -> dict[str, float]:
    """The share of locked packages that have a hash."""
    entries = [e for n in ("requirements.lock", "requirements-dev.lock") for e in _entries((ROOT / n).read_text())]
    return {"hashed_packages": sum("--hash=sha256:" in entry for entry in entries) / len(entries)}


def _entries(lock: str) -> list[str]:
    return re.split(r"\n(?=\S)", lock.strip())


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


def bodies(folder: Path, count: int) -> dict[str, Any]:
    """Send hostile requests to a served model: it lives, within its memory and time, and answers as before."""
    from mediarank.asking.describe import Copying
    from mediarank.media.frames import FramesConfig
    from mediarank.media.limits import Limits
    from mediarank.ops.models.packing import pack

    in_child(lambda: make(folder / "project"))
    packed = pack(folder / "project/data", "retrieval", Copying(FramesConfig(), Limits()), folder / "packed")
    item = packed.model.names[0]
    picture = (folder / "project/data/raw/media" / item).read_bytes()
    dimensions = [len(matrix.names) for matrix in packed.collection.values()]
    sent = hostile_bodies(count, list(packed.collection), dimensions, item, picture)
    with served(folder / "packed", folder / "served.log") as server:
        found = endure(server, sent, one(item=item))
    for line in found.wrong[:5]:
        print(f"  {line}")
    return {
        "hostile_bodies": len(found.seconds),
        "server_deaths": found.deaths,
        "bodies_answered_wrongly": len(found.wrong) + (not found.same),
        "server_peak_mb": round(found.peak_bytes / 1e6),
        "bodies_p99_s": round(float(np.quantile(found.seconds, 0.99)), 2),
    }


def share(folder: Path, images: int = 120, clips: int = 40) -> dict[str, float]:
    """Seconds in checksums and syncs of one run on a small demo collection, as a share of the run's processor time.

    The stages of dvc.yaml run one after the other in this process, guarded children included, so that all is counted.
    Checksums are measured on the processor's clock, syncs, which wait for the disk, on the wall's.
    """
    import yaml

    from mediarank import seals
    from mediarank.cli import main as run_command

    folder.mkdir()
    shutil.copytree(ROOT / "baseline", folder / "baseline")
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["collection"] |= {"path": str(ROOT / "src/mediarank/collections/demo")}
    params["collection"]["demo"] |= {"images": images, "clips": clips}
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    plan = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    commands = [stage["cmd"].split()[1:] for stage in plan.values() if "wire" not in stage["cmd"]]
    checks = ("file_sha256", "seal_json", "open_json", "seal_parquet", "open_parquet", "seal_zip", "check_zip")
    spent = {"hash": 0.0, "sync": 0.0}
    inside = False

    def timed(call: Callable[..., Any], kind: str) -> Callable[..., Any]:
        clock = time.perf_counter if kind == "sync" else time.process_time

        def wrapped(*arguments: Any, **options: Any) -> Any:
            nonlocal inside
            if inside:
                return call(*arguments, **options)
            inside, began = True, clock()
            try:
                return call(*arguments, **options)
            finally:
                spent[kind] += clock() - began
                inside = False

        return wrapped

    os.environ["MEDIARANK_JOBS"] = "1"
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        stack.enter_context(one_process())
        for name in (*checks, "open_zip", "sync", "sync_folder"):
            owner, kind = (disk, "sync") if name.startswith("sync") else (seals, "hash")
            original = getattr(owner, name)
            for module in [m for n, m in sys.modules.items() if n.startswith("mediarank")]:
                if getattr(module, name, None) is original:  # imported by its name
                    stack.enter_context(mock.patch.object(module, name, timed(original, kind)))
        began = time.process_time()
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
        total = time.process_time() - began
    return {
        "check_hash_s": round(spent["hash"], 3),
        "check_sync_s": round(spent["sync"], 3),
        "run_processor_s": round(total, 1),
        "check_share": round(sum(spent.values()) / total, 4),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("flips", "faults", "kills", "crash", "media", "doors", "packages", "cost")
    names += ("stages", "bodies", "share")
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    parser.add_argument("--mutants", type=int, default=20_400)
    parser.add_argument("--flips", type=int, default=400, help="bits to flip for each format")
    parser.add_argument("--bodies", type=int, default=500, help="hostile requests to send")
    parser.add_argument("--most", type=int, help="steps at which each stage and command is killed; by default all")
    parser.add_argument("--only", nargs="+", default=(), help="stages and commands to kill; by default all")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="mediarank-faults-") as name:
        folder = Path(name)
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "flips": lambda: flips(folder / "flips", options.flips),
            "faults": lambda: faults(folder / "faults"),
            "kills": lambda: kills(folder / "kills"),
            "crash": lambda: crash(folder / "crash"),
            "media": lambda: media(folder / "media", options.mutants),
            "doors": lambda: doors(folder / "doors"),
            "packages": packages,
            "cost": lambda: cost(folder / "cost"),
            "stages": lambda: kill_all(folder / "stages", options.most, options.only),
            "bodies": lambda: bodies(folder / "bodies", options.bodies),
            "share": lambda: share(folder / "share"),
        }
        for part in options.parts:
            began = time.monotonic()
            found = parts[part]()
            result |= {key: value + result.get(key, 0) if key in SUMMED else value for key, value in found.items()}
            print(f"{part}: {found} in {time.monotonic() - began:.0f} s", flush=True)
    wrong = [name for name in (*ZERO, "crash_neither") if result.get(name)]
    wrong += ["check_share"] if result.get("check_share", 0) > MOST_CHECK_SHARE else []
    wrong += ["server_peak_mb"] if result.get("server_peak_mb", 0) > 1000 else []
    wrong += ["bodies_p99_s"] if result.get("bodies_p99_s", 0) > 30 else []
    print(json.dumps(result | {"failed": wrong}))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
