"""LightGBM on scores of base models ranks new items, refuses what it can't learn from, and says what is missing."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from rivals_lightgbm import LightGBMStacking

from mediarank.evaluation.metrics import average_precision
from mediarank.types import DataError, MediarankError


def example(seed: int = 0, items: int = 200, models: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(items) < 0.2
    quality = np.linspace(0.05, 0.5, models)
    X = np.where(y[:, None], quality, -quality) + rng.normal(scale=0.4, size=(items, models))
    return np.clip(X, -1, 1).astype(np.float32), y


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_labels_of_one_kind_are_refused(y: list[int]) -> None:
    with pytest.raises(DataError, match="items are relevant"):
        LightGBMStacking().fit(np.zeros((3, 2), dtype=np.float32), y)


def test_lightgbm_ranks_new_items_or_says_what_to_install() -> None:
    X, y = example(4, items=800)
    try:
        import lightgbm  # noqa: F401
    except OSError:
        with pytest.raises(MediarankError, match="libgomp1"):
            LightGBMStacking(trees=20).fit(X, y)
        return
    first = LightGBMStacking(trees=20).fit(X[:400], y[:400]).predict(X[400:])
    assert average_precision(y[400:], first) > 2 * y[400:].mean()
    np.testing.assert_array_equal(first, LightGBMStacking(trees=20).fit(X[:400], y[:400]).predict(X[400:]))


def test_a_missing_openmp_library_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def broken(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(MediarankError, match="install OpenMP's run-time library"):
        LightGBMStacking().fit(*example())
