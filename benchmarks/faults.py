"""Nothing lost, nobody in: faults of the machine, flipped bits, kills, crash states, damaged media, open ports.

    python benchmarks/faults.py                       # all parts
    python benchmarks/faults.py --kept found.json     # the same; after an interruption it continues where it was
    python benchmarks/faults.py --kept found.json --work folder --seconds 300   # a portion of it
    python benchmarks/faults.py --parts flips crash   # some of them
    python benchmarks/faults.py --mutants 2400        # fewer damaged files
    python benchmarks/faults.py --parts stages --most 20   # kill each stage and command at 20 of its steps

Each part prints a line; the last line is one JSON object. What must be 0 and is not is listed in `failed`, and the exit
code is 1; if parts are left, it is 3. Everything happens in a temporary folder, or in the one named by `--work`, and on
loopback. A file of finished parts is refused if the code has changed since.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from faults_bodies import bodies
from faults_cost import cost, share
from faults_doors import doors
from faults_files import KILLED_WRITERS, WRITERS, crash, faults, kills
from faults_flips import KINDS, flips
from faults_killed import KILLED, kill_one
from faults_kills import PORTION
from faults_media import media

Figures = dict[str, Any]
Found = dict[str, Figures]
"""Portion -> what it found"""

ROOT = Path(__file__).resolve().parents[1]
BLOCK = 1700
"""Damaged files of one portion."""
KILLS = ("kill_other_bytes", "kill_leftovers", "kill_half_seen")
ZERO = ("io_lost", "io_silent", "flips_silent", *KILLS, "crash_neither", "mutant_crashes", "cross_origin_changes")
ZERO += ("server_deaths", "bodies_answered_wrongly")
SUMMED = ("kill_points", *KILLS, "cross_origin_changes", "server_deaths", "io_faults", "io_lost", "io_silent")
SUMMED += (
    "flips_silent",
    "crash_states",
    "crash_neither",
    "mutants",
    "mutants_refused",
    "mutant_crashes",
    "processor_s",
)
"""Figures that more than one portion adds to."""
MOST = {"check_share": 0.03, "server_peak_mb": 1000, "bodies_p99_s": 30}
LEAST = {"hashed_packages": 1.0}
PARTS = ("flips", "faults", "kills", "crash", "media", "doors", "packages", "cost", "stages", "bodies", "share")


def packages() -> dict[str, float]:
    """The share of locked packages that have a hash."""
    entries = [e for n in ("requirements.lock", "requirements-dev.lock") for e in _entries((ROOT / n).read_text())]
    return {"hashed_packages": sum("--hash=sha256:" in entry for entry in entries) / len(entries)}


def _entries(lock: str) -> list[str]:
    return re.split(r"\n(?=\S)", lock.strip())


def source_digest() -> str:
    """Of all code that is tested, so that parts of different versions are not added up."""
    total = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        total.update(f"{path.relative_to(ROOT).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def planned(options: argparse.Namespace, folder: Path, done: Found) -> Iterator[tuple[str, Callable[[], Figures]]]:
    """The parts in portions, each with its name. done : is looked at again after each portion"""
    for word in options.only if "stages" in options.parts else ():
        for k in count():
            yield f"kill {word} {k}", partial(kill_one, word, folder / "stages", options.most, k)
            if done.get(f"kill {word} {k}", {}).get("kill_points", 0) < PORTION:
                break
    every: dict[str, dict[str, Callable[[], Figures]]] = {
        "flips": {f" {kind}": partial(flips, folder / "flips", options.flips, kind) for kind in KINDS},
        "faults": {f" {kind}": partial(faults, folder / "faults", kind) for kind in WRITERS},
        "kills": {f" {kind}": partial(kills, folder / "kills", kind) for kind in KILLED_WRITERS},
        "crash": {f" {kind}": partial(crash, folder / "crash", kind) for kind in WRITERS},
        "media": {
            f" {start}": partial(media, folder / f"media {start}", range(start, min(start + BLOCK, options.mutants)))
            for start in range(0, options.mutants, BLOCK)
        },
        "doors": {"": partial(doors, folder / "doors")},
        "packages": {"": packages},
        "cost": {"": partial(cost, folder / "cost")},
        "bodies": {"": partial(bodies, folder / "bodies", options.bodies)},
        "share": {"": partial(share, folder / "share")},
    }
    for part in options.parts:
        yield from ((f"{part}{portion}", run) for portion, run in every.get(part, {}).items())


def added(done: Found) -> Figures:
    """The figures of all portions together."""
    killed = dict.fromkeys(part[5:].rpartition(" ")[0] for part in done if part.startswith("kill "))
    result: Figures = {"killed": list(killed)}
    for found in done.values():
        for key, value in found.items():
            before = result.get(key)
            if isinstance(value, dict):
                value = {**(before or {}), **value}
            result[key] = value + (before or 0) if key in SUMMED else value
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--mutants", type=int, default=20_400)
    parser.add_argument("--flips", type=int, default=400, help="bits to flip for each kind of file")
    parser.add_argument("--bodies", type=int, default=500, help="hostile requests to send")
    parser.add_argument("--most", type=int, help="steps at which each is killed; by default all, or as SAMPLED says")
    parser.add_argument("--only", nargs="+", choices=KILLED, default=KILLED, help="stages and commands to kill")
    parser.add_argument("--kept", type=Path, help="a file for finished parts; those that it has are not run again")
    parser.add_argument("--work", type=Path, help="a folder to work in, which the next portion uses, too")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no part after this time")
    options = parser.parse_args()
    settings = [source_digest(), options.mutants, options.flips, options.bodies, options.most]
    done: Found = {}
    if options.kept and options.kept.exists():
        kept = json.loads(options.kept.read_text())
        if kept["settings"] != settings:
            parser.error(f"{options.kept} was made with other settings, or by other code; delete it")
        done = kept["parts"]
    began, left = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mediarank-faults-") as name:
        for part, run in planned(options, options.work or Path(name), done):
            if part in done:
                continue
            if time.monotonic() - began > options.seconds:
                left.append(part)
                continue
            started, processor = time.monotonic(), sum(os.times()[:4])
            found = run()
            done[part] = {**found, "processor_s": round(sum(os.times()[:4]) - processor, 1)}
            print(f"{part}: {found} in {time.monotonic() - started:.0f} s", flush=True)
            if options.kept:
                options.kept.write_text(json.dumps({"settings": settings, "parts": done}))
    result = added(done)
    wrong = [key for key in ZERO if result.get(key)]
    wrong += [key for key, most in MOST.items() if result.get(key, 0) > most]
    wrong += [key for key, least in LEAST.items() if result.get(key, least) < least]
    print(json.dumps(result | {"failed": wrong}))
    if left:
        print(f"left: {', '.join(left)}", file=sys.stderr)
    return 1 if wrong else 3 if left else 0


if __name__ == "__main__":
    sys.exit(main())
