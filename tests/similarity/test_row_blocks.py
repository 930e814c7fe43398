"""Blocks of rows: each row once, whatever the number of threads, and errors reach the caller."""

from __future__ import annotations

import numpy as np
import pytest

from mediarank.similarity.row_blocks import for_blocks


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize(("count", "block"), [(0, 4), (3, 4), (4, 4), (11, 4)])
def test_every_row_is_visited_once(jobs: str, count: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", jobs)
    visits = np.zeros(count, dtype=int)

    def visit(rows: slice) -> None:
        assert 0 < rows.stop - rows.start <= block
        visits[rows] += 1

    for_blocks(visit, count, block)
    assert (visits == 1).all()


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_errors_of_a_thread_reach_the_caller(jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", jobs)

    def fail(rows: slice) -> None:
        raise ValueError("in a thread")

    with pytest.raises(ValueError, match="in a thread"):
        for_blocks(fail, 9, 2)
