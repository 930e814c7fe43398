"""The test suite in many orders: does it pass in every one, and how long does it take?

    python benchmarks/suite.py                    # ten orders: about an hour on two cores
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


def run_order(seed: int, paths: Sequence[str]) -> tuple[float, str, str]:
    """Seconds that `make test` takes in this order, pytest's last line, and which tests failed, or nothing."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow", f"--randomly-seed={seed}", *paths]
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, errors="replace", check=False)
    seconds = time.perf_counter() - began
    lines = ended.stdout.splitlines()
    last = next((line.strip("= ") for line in reversed(lines) if " passed" in line or " failed" in line), "no result")
    if not ended.returncode:
        return seconds, last, ""
    log = REPOSITORY / f".mediarank/suite-{seed}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(ended.stdout + ended.stderr)
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return seconds, last, "\n".join([*failed, f"exit code {ended.returncode}; all that was printed: {log}"])


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
            took, last, failed = run_order(seed, arguments.paths)
            seconds.append(took)
            failures += bool(failed)
            print(f"--randomly-seed={seed}: {'FAILED' if failed else 'passed'}, {took:.0f} s ({last})", flush=True)
            if failed:
                print(failed, flush=True)
    middle = round(statistics.median(seconds), 1)
    print(json.dumps({"orders": arguments.orders, "failures": failures, "median_s": middle, "busy": arguments.busy}))


if __name__ == "__main__":
    main()
