"""The test suite in many orders: does it pass in every one, and how long does it take?

    python benchmarks/suite.py                    # ten orders: over an hour on two cores
    python benchmarks/suite.py --orders 2 --busy 4    # while four processes keep the machine busy
    python benchmarks/suite.py --orders 3 tests/ops/runs

Each order is a seed of pytest-randomly, counted up from `--seed`; `pytest --randomly-seed=N` repeats one. The last line
is JSON: {"orders": 10, "failures": 0, "median_s": ...}, where an order with any failed test counts as one failure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUSY = "while True: pass"


def run_order(seed: int, paths: Sequence[str]) -> tuple[float, str]:
    """Seconds that `make test` takes in this order, and what it printed about failures, or nothing."""
    command = [sys.executable, "-m", "pytest", "-n", "auto"]
    began = time.perf_counter()
    ended = subprocess.run(
        [*command, "-m", "not slow", f"--randomly-seed={seed}", *paths],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return seconds, "" if not ended.returncode else "\n".join(lines) or ended.stdout[-2000:] + ended.stderr[-2000:]


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the machine busy with so many processes."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="tests to run; by default all but the drills")
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first order")
    parser.add_argument("--busy", type=int, default=0, help="processes that keep the machine busy meanwhile")
    arguments = parser.parse_args()
    seconds, failures = [], 0
    with busy(arguments.busy):
        for seed in range(arguments.seed, arguments.seed + arguments.orders):
            took, failed = run_order(seed, arguments.paths)
            seconds.append(took)
            failures += bool(failed)
            print(f"--randomly-seed={seed}: {'FAILED' if failed else 'passed'}, {took:.0f} s", flush=True)
            if failed:
                print(failed, flush=True)
    middle = round(statistics.median(seconds), 1)
    print(json.dumps({"orders": arguments.orders, "failures": failures, "median_s": middle, "busy": arguments.busy}))


if __name__ == "__main__":
    main()
