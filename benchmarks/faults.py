"""Nothing lost, nobody in: faults of the machine, flipped bits, kills, crash states, damaged media, open ports.

    python benchmarks/faults.py                       # all parts, about an hour on two cores
    python benchmarks/faults.py --kept found.json     # the same; after an interruption it continues where it was
    python benchmarks/faults.py --parts flips crash   # some of them
    python benchmarks/faults.py --mutants 2400        # fewer damaged files
    python benchmarks/faults.py --parts stages --most 20   # kill each stage and command at 20 of its steps

Each part prints a line; the last line is one JSON object. What must be 0 and is not is listed in `failed`, and the exit
code is 1. Everything happens in a temporary folder and on loopback.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from faults_bodies import bodies
from faults_cost import cost, share
from faults_doors import doors
from faults_files import crash, faults, kills
from faults_flips import flips
from faults_killed import KILLED, kill_one
from faults_media import media

ROOT = Path(__file__).resolve().parents[1]
KILLS = ("kill_other_bytes", "kill_leftovers", "kill_half_seen")
ZERO = ("io_lost", "io_silent", "flips_silent", *KILLS, "crash_neither", "mutant_crashes", "cross_origin_changes")
ZERO += ("server_deaths", "bodies_answered_wrongly")
SUMMED = ("kill_points", *KILLS, "cross_origin_changes", "server_deaths")
"""Figures that more than one part adds to."""
MOST = {"check_share": 0.03, "server_peak_mb": 1000, "bodies_p99_s": 30}
LEAST = {"hashed_packages": 1.0}
PARTS = ("flips", "faults", "kills", "crash", "media", "doors", "packages", "cost", "stages", "bodies", "share")


def packages() -> dict[str, float]:
    """The share of locked packages that have a hash."""
    entries = [e for n in ("requirements.lock", "requirements-dev.lock") for e in _entries((ROOT / n).read_text())]
    return {"hashed_packages": sum("--hash=sha256:" in entry for entry in entries) / len(entries)}


def _entries(lock: str) -> list[str]:
    return re.split(r"\n(?=\S)", lock.strip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--mutants", type=int, default=20_400)
    parser.add_argument("--flips", type=int, default=400, help="bits to flip for each format")
    parser.add_argument("--bodies", type=int, default=500, help="hostile requests to send")
    parser.add_argument(
        "--most", type=int, help="steps at which each stage and command is killed; by default all, of promote 120"
    )
    parser.add_argument("--only", nargs="+", choices=KILLED, default=KILLED, help="stages and commands to kill")
    parser.add_argument("--kept", type=Path, help="a file for finished parts; those that it has are not run again")
    options = parser.parse_args()
    settings = [options.mutants, options.flips, options.bodies, options.most]

    def known() -> dict[str, dict[str, Any]]:
        """The parts that are finished, by this run or another one with the same file."""
        if not options.kept or not options.kept.exists():
            return {}
        kept = json.loads(options.kept.read_text())
        if kept["settings"] != settings:
            parser.error(f"{options.kept} was made with other settings; delete it")
        return dict(kept["parts"])

    done = known()
    with tempfile.TemporaryDirectory(prefix="mediarank-faults-") as name:
        folder = Path(name)
        every: dict[str, Callable[[], dict[str, Any]]] = {
            "flips": lambda: flips(folder / "flips", options.flips),
            "faults": lambda: faults(folder / "faults"),
            "kills": lambda: kills(folder / "kills"),
            "crash": lambda: crash(folder / "crash"),
            "media": lambda: media(folder / "media", options.mutants),
            "doors": lambda: doors(folder / "doors"),
            "packages": packages,
            "cost": lambda: cost(folder / "cost"),
            "bodies": lambda: bodies(folder / "bodies", options.bodies),
            "share": lambda: share(folder / "share"),
        }
        chosen = {part: every[part] for part in options.parts if part != "stages"}
        if "stages" in options.parts:
            killed = {f"kill {word}": partial(kill_one, word, folder / "stages", options.most) for word in options.only}
            chosen = killed | chosen
        for part, run in chosen.items():
            if part not in done:
                began = time.monotonic()
                found = run()
                print(f"{part}: {found} in {time.monotonic() - began:.0f} s", flush=True)
                done |= {**known(), part: found}
                if options.kept:
                    options.kept.write_text(json.dumps({"settings": settings, "parts": done}))
    result: dict[str, Any] = {"killed": [part[5:] for part in done if part.startswith("kill ")]}
    for found in done.values():
        result |= {key: value + result.get(key, 0) if key in SUMMED else value for key, value in found.items()}
    wrong = [key for key in ZERO if result.get(key)]
    wrong += [key for key, most in MOST.items() if result.get(key, 0) > most]
    wrong += [key for key, least in LEAST.items() if result.get(key, least) < least]
    print(json.dumps(result | {"failed": wrong}))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
