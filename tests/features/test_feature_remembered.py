from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from mediarank.features import cached_rows as module
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.features.cached_rows import remembered


class Counted:
    """Squares numbers, and knows how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, number: int) -> np.ndarray:
        self.asked.append(number)
        return np.array([number, number**2], dtype=np.float32)


@pytest.fixture(autouse=True)
def one_process_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    monkeypatch.setattr(module, "_BLOCK", 4)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)


@pytest.fixture
def cache(tmp_path: Path) -> FeatureCache:
    return FeatureCache(tmp_path)


class Killed(Exception):
    pass


class Slow:
    """Squares numbers, one per second of a made-up clock, until it is killed."""

    def __init__(self, last: int) -> None:
        self.last, self.now = last, 0.0

    def __call__(self, number: int) -> np.ndarray:
        if number == self.last:
            raise Killed
        self.now += 1
        return np.array([number**2], dtype=np.float32)


def test_a_killed_run_loses_seconds_not_blocks(cache: FeatureCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow work is kept every few seconds, though a block is far from complete."""
    monkeypatch.setattr(module, "_BLOCK", 1000)
    slow = Slow(100)
    monkeypatch.setattr(module.time, "monotonic", lambda: slow.now)
    monkeypatch.setattr(module, "fan_out_iter", lambda function, jobs, what, carry: map(function, jobs))
    keys = [cache_key("slow", str(n)) for n in range(200)]
    with pytest.raises(Killed):
        list(remembered("slow", keys, int, slow, cache))
    assert 100 - module._SECONDS - 1 <= len(cache.known(keys)) <= 100


def test_small_results_are_read_many_at_a_time(cache: FeatureCache, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def get(self: FeatureCache, keys: Iterable[str]) -> dict[str, np.ndarray]:
        wanted = list(keys)
        asked.append(len(wanted))
        return plain(self, wanted)

    plain = FeatureCache.get
    squares(list(range(100)), cache)
    monkeypatch.setattr(FeatureCache, "get", get)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 10 * (8 + module._OWN_BYTES))
    assert squares(list(range(100)), cache) == ([[n, n * n] for n in range(100)], [])
    assert asked == [4, *[10] * 9, 6]


def squares(numbers: list[int], cache: FeatureCache | None) -> tuple[list[list[float]], list[int]]:
    function = Counted()
    keys = [cache_key("square", str(n)) for n in numbers]
    results = [result.tolist() for result in remembered("squares", keys, numbers.__getitem__, function, cache)]
    return results, function.asked


NUMBERS = [5, 3, 8, 3, 1, 9, 5, 7, 2, 2, 0]
EXPECTED = [[n, n * n] for n in NUMBERS]


def test_results_come_in_order_and_equal_jobs_are_done_once(cache: FeatureCache) -> None:
    for kept in (None, cache):
        results, asked = squares(NUMBERS, kept)
        assert results == EXPECTED
        assert asked == [5, 3, 8, 1, 9, 7, 2, 0]


def test_what_is_cached_is_not_done_again(cache: FeatureCache) -> None:
    squares([3, 9, 0], cache)
    results, asked = squares(NUMBERS, cache)
    assert results == EXPECTED
    assert asked == [5, 8, 1, 7, 2]
    assert squares(NUMBERS, cache) == (EXPECTED, [])


def test_a_damaged_entry_is_done_again(cache: FeatureCache) -> None:
    squares(NUMBERS, cache)
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE payload SET data = zeroblob(8) WHERE id IN (1, 6)")
    db.close()
    results, asked = squares(NUMBERS, cache)
    assert results == EXPECTED
    assert asked == [5, 7]
    assert squares(NUMBERS, cache) == (EXPECTED, [])


def test_a_stopped_stream_keeps_whole_blocks(cache: FeatureCache) -> None:
    keys = [cache_key("square", str(n)) for n in range(12)]
    stream = remembered("squares", keys, int, Counted(), cache)
    for _ in range(9):
        next(stream)
    del stream
    assert len(cache.known(keys)) == 8


def test_nothing_to_do(cache: FeatureCache) -> None:
    assert squares([], cache) == ([], [])
