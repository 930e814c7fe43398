"""Fan-out gives what a loop gives, on any number of processes."""

from __future__ import annotations

import os

import pytest

from mediarank import fanout
from mediarank.fanout import fan_out, fan_out_iter, jobs
from mediarank.types import ConfigError, DataError


def square(number: int) -> int:
    if number < 0:
        raise DataError(f"{number} is negative")
    return number * number


@pytest.mark.parametrize("processes", ["1", "2"])
def test_outcomes_come_in_order(monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", processes)
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    numbers = list(range(500))
    assert fan_out(square, numbers, "squares") == [n * n for n in numbers]
    assert fan_out(square, [], "nothing") == []


def whose(number: int) -> int:
    return os.getpid()


def test_workers_start_only_where_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "2")
    assert set(fan_out(whose, range(300), "short work")) == {os.getpid()}
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    assert len(set(fan_out(whose, range(300), "long work"))) > 1


def test_progress_goes_to_the_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    assert next(fan_out_iter(square, [3], "squares")) == 9
    fan_out(square, range(7), "squares")
    assert "squares: 7 of 7" in capsys.readouterr().err


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_error_reaches_the_caller(monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", processes)
    monkeypatch.setattr(fanout, "START_UP", 0.0)
    with pytest.raises(DataError, match="-3 is negative"):
        fan_out(square, [*range(200), -3], "squares")


@pytest.mark.parametrize("text", ["0", "-1", "two"])
def test_jobs_must_be_a_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", text)
    with pytest.raises(ConfigError, match="MEDIARANK_JOBS"):
        jobs()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://here"])
def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("MEDIARANK_CLUSTER", address)
    monkeypatch.setattr(fanout, "PATIENCE", 0.5)
    with pytest.raises(ConfigError, match=f"MEDIARANK_CLUSTER names '{address}'.* no Dask scheduler answers"):
        fan_out(square, list(range(5)), "squares")


def test_one_item_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    assert fan_out(square, [3], "squares") == [9]
    assert capsys.readouterr().err == ""
