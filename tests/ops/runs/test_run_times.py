"""Urgency of stages, the time left, and the times kept from earlier runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.ops.runs.dag import Stage
from mediarank.ops.runs.run_times import Progress, in_words, time_left


def stage(address: str, *upstream: str) -> Stage:
    return Stage(address, upstream, (), (), unchanged=False)


DIAMOND = (stage("a"), stage("b", "a"), stage("c", "a"), stage("d", "b", "c"))
TIMES = {"a": 1.0, "b": 10.0, "c": 4.0, "d": 2.0}


@pytest.mark.parametrize(("places", "seconds"), [(1, 17.0), (2, 13.0), (3, 13.0)])
def test_the_time_of_a_diamond_is_known(places: int, seconds: float) -> None:
    assert time_left(DIAMOND, TIMES, {}, places) == seconds


def test_what_runs_already_is_not_started_again() -> None:
    left = {"b": 3.0, "c": 4.0, "d": 2.0}
    assert time_left(DIAMOND, left, {"b": None}, 2) == 6.0
    assert time_left(DIAMOND, left, {"b": None}, 1) == 9.0


def test_the_longest_chain_is_started_first() -> None:
    # Plan order would begin with x and y, and then wait for the chain alone: 4 + 8.
    stages = (stage("x"), stage("y"), stage("long"), stage("longer", "long"))
    times = {"x": 4.0, "y": 4.0, "long": 2.0, "longer": 6.0}
    assert time_left(stages, times, {}, 2) == 8.0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=8), st.integers(1, 4))
def test_between_the_longest_stage_and_all_of_them_in_turn(seconds: list[float], places: int) -> None:
    stages = tuple(stage(str(k)) for k in range(len(seconds)))
    left = time_left(stages, {str(k): s for k, s in enumerate(seconds)}, {}, places)
    assert max(max(seconds), sum(seconds) / places) - 1e-9 <= left <= sum(seconds) + 1e-9


def test_a_first_run_counts_and_a_second_one_estimates(tmp_path: Path) -> None:
    first = Progress(tmp_path, DIAMOND, lambda: 2)
    assert first.begin("a") == "stage 1 of 4: a"
    first.end("a", 60.0)
    first.skip("b")
    assert first.begin("c") == "stage 3 of 4: c"
    first.end("c", 600.0)
    first.save()
    second = Progress(tmp_path, DIAMOND, lambda: 2)
    assert second.urgency("a") > second.urgency("c") > second.urgency("d")
    assert second.begin("a") == "stage 1 of 4, about 16 min left: a"  # 60 s, 600 s and twice their mean, two at a time


def test_times_of_stages_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text('{"a": 5.0, "former": 3.0}')
    Progress(tmp_path, DIAMOND, lambda: 2).save()
    assert json.loads((tmp_path / "times.json").read_text()) == {"a": 5.0}


@pytest.mark.parametrize("damaged", ["", "[]", '{"a": "soon"}', "\x00"])
def test_damaged_times_count_as_none(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "times.json").write_text(damaged)
    assert Progress(tmp_path, DIAMOND, lambda: 2).begin("a") == "stage 1 of 4: a"


@pytest.mark.parametrize(("seconds", "words"), [(0.0, "5 s"), (42.0, "40 s"), (100.0, "2 min"), (3600.0, "60 min")])
def test_lengths_of_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
