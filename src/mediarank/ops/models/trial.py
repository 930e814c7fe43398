"""Load a model in a fresh process and let it rank the test queries.

`python -m mediarank.ops.models.trial MODEL SCORES`.

MODEL is a folder as MLflow keeps it, SCORES what the system's stage wrote for the method that is served. The model
must give the same scores, or others that put everything in the same order: then nothing was lost on the way from the
stage to the registry. The score of an item for itself is not compared, as it is not answered. Prints what it found as
JSON; the exit code is 1 if it ranks otherwise.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.evaluation.rankings import Rankings
from mediarank.ops.services.environment import child_environment
from mediarank.systems.model import Orders
from mediarank.types import MediarankError

TOLERANCE: Final = 1e-3
"""Of the scores' standard deviation, or of the pairs: another processor sums in another order, which may turn near
ties."""
SECONDS: Final = 900
CELLS: Final = 20_000_000
"""The most scores that are compared: of a large collection, fewer queries are asked."""


class TrialFailed(MediarankError):
    """A model did not load, or does not rank as it did when it was fitted."""


def try_out(model: Path, scores: Path, root: Path) -> dict[str, Any]:
    """Run the trial in a fresh process: how many queries it ranked, and how far from what was recorded."""
    command = [sys.executable, "-m", "mediarank.ops.models.trial", str(model), str(scores)]
    try:
        done = subprocess.run(
            command, cwd=root, env=child_environment(root), capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"{model} did not rank the test queries within {SECONDS} s; it stays unpromoted.") from None
    if done.returncode:
        words = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise TrialFailed(f"{model} does not load and rank in a fresh process:\n{words}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def trial(model: Path, scores: Path) -> dict[str, Any]:
    from mlflow.pyfunc import load_model

    recorded = store.read_method(scores)
    began = time.perf_counter()
    loaded = load_model(str(model))
    seconds = time.perf_counter() - began
    names = list(recorded.names)
    asked = recorded.ids[: max(1, CELLS // len(names))].tolist()
    opened = loaded.unwrap_python_model().packed.model
    answers = loaded.predict(pd.DataFrame({"item": asked}), params={"count": len(opened.names)})
    found = answers.pivot(index="query", columns="name", values="score").reindex(index=asked, columns=names).to_numpy()
    if isinstance(recorded, Rankings):  # the best of each query, without the query itself
        kept = slice(None, int((recorded.best[: len(asked)] >= 0).sum(axis=1).min()))
        best = recorded.best[: len(asked), kept]
        worst = difference(recorded.scores[: len(asked), kept], np.take_along_axis(found, best, 1), opened.orders)
    else:
        wanted = recorded.rows(asked)
        own = np.equal.outer(np.array(asked, object), np.array(names, object))  # an item is not among its own answers
        worst = difference(wanted, np.where(own, wanted, found), opened.orders)
    return {"queries": len(asked), "ranked": len(names), "load_seconds": round(seconds, 3), "worst_difference": worst}


def difference(recorded: np.ndarray[Any, Any], found: np.ndarray[Any, Any], orders: Orders = "names") -> float:
    """How far two sets of scores (items × names) are from ranking alike; 0 if they are the same.

    The largest difference in standard deviations, or the largest share of pairs that are in another order, whichever
    is less: a stage may record places instead of scores.

    orders : whether the names of one item are put in order, or the items of one name
    """
    if np.isnan(found).any():
        return float("inf")
    apart = float(np.abs(found - recorded).max()) / (float(np.std(recorded)) or 1.0)
    if apart <= TOLERANCE:
        return apart
    rows = (recorded, found) if orders == "names" else (recorded.T, found.T)
    return min(apart, max(map(_turned, *rows)))


def _turned(recorded: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    """The share of pairs that are in another order, or in an order at all where they were not."""
    before, after = (np.sign(np.subtract.outer(scores, scores)) for scores in (recorded, found))
    return float(np.mean(before != after))


def main() -> None:
    found = trial(Path(sys.argv[1]), Path(sys.argv[2]))
    print(json.dumps(found))
    if found["worst_difference"] > TOLERANCE:
        sys.exit(f"It ranks otherwise than the stage did: they differ by {found['worst_difference']:.2g}.")


if __name__ == "__main__":
    main()
