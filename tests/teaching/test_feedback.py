"""Feedback that survives crashes: replay gives the very weights that were lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from made_live import live_ranker

from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.teaching.feedback import FeedbackStore
from mediarank.types import DataError

EVENTS = [Feedback(f"i{k:03d}", (f"i{k + 20:03d}", f"i{k + 21:03d}"), (f"i{k + 40:03d}",)) for k in range(8)]

CHILD = """
import os, signal, sys
sys.path[:0] = sys.argv[2:3]
from pathlib import Path
from made_live import live_ranker
from mediarank import store
from mediarank.teaching.feedback import FeedbackStore
from mediarank.systems.retrieval.live import Feedback

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

feedback = FeedbackStore(Path(sys.argv[1]), snapshot_every=3)
live = live_ranker()
for k in range(6):
    if k == 5:
        store.write_arrays = die  # between the log and the second snapshot
    feedback.record(live, Feedback(f"i{k:03d}", (f"i{k + 20:03d}", f"i{k + 21:03d}"), (f"i{k + 40:03d}",)))
"""


def learned(events: list[Feedback]) -> LiveRanker:
    live = live_ranker()
    for event in events:
        live.learn(event)
    return live


def same(one: LiveRanker, other: LiveRanker) -> bool:
    return all(np.array_equal(one.state()[name], other.state()[name]) for name in one.state())


def test_a_crash_between_log_and_snapshot_loses_nothing(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(Path(__file__).parents[1] / "systems")],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    feedback, live = FeedbackStore(tmp_path, snapshot_every=3), live_ranker()
    assert len(feedback.events()) == 6
    assert feedback.restore(live) == 0
    assert same(live, learned(EVENTS[:6])), "bit by bit"


@pytest.mark.parametrize("every", [1, 3, 100])
def test_snapshots_change_nothing(tmp_path: Path, every: int) -> None:
    feedback, live = FeedbackStore(tmp_path, snapshot_every=every), live_ranker()
    for event in EVENTS:
        feedback.record(live, event)
    assert same(live, learned(EVENTS))
    again = live_ranker()
    feedback.restore(again)
    assert same(again, live)
    assert feedback.snapshot.exists() == (every < 100)


def test_half_a_line_is_no_event_and_is_written_over(tmp_path: Path) -> None:
    feedback, live = FeedbackStore(tmp_path), live_ranker()
    feedback.record(live, EVENTS[0])
    whole = feedback.log.read_bytes()
    feedback.log.write_bytes(whole + b'1234abcd {"query": "i0')
    assert feedback.events() == EVENTS[:1]
    feedback.record(live, EVENTS[1])
    assert feedback.events() == EVENTS[:2]
    assert same(live, learned(EVENTS[:2]))


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    feedback, live = FeedbackStore(tmp_path), live_ranker()
    for event in EVENTS[:2]:
        feedback.record(live, event)
    feedback.log.write_bytes(feedback.log.read_bytes().replace(b"i020", b"i029", 1))
    with pytest.raises(DataError, match="line 1 is damaged"):
        feedback.restore(live_ranker())


def test_two_sessions_see_each_other(tmp_path: Path) -> None:
    feedback, one, other = FeedbackStore(tmp_path), live_ranker(), live_ranker()
    feedback.record(one, EVENTS[0])
    feedback.record(other, EVENTS[1])
    feedback.record(one, EVENTS[2])
    assert same(one, learned(EVENTS[:3]))


def test_after_a_new_model_feedback_is_learned_again_from_there(tmp_path: Path) -> None:
    feedback, live = FeedbackStore(tmp_path, snapshot_every=2), live_ranker()
    for event in EVENTS[:4]:
        feedback.record(live, event)
    renewed, expected = live_ranker(weights=0.3), live_ranker(weights=0.3)
    feedback.restore(renewed)
    for event in EVENTS[:4]:
        expected.learn(event)
    assert same(renewed, expected)


def test_what_names_strangers_is_not_logged(tmp_path: Path) -> None:
    feedback = FeedbackStore(tmp_path)
    with pytest.raises(DataError, match="who: not among"):
        feedback.record(live_ranker(), Feedback("i000", ("who",), ("i001",)))
    assert feedback.events() == []


def test_events_about_items_that_have_left_are_left_out_and_counted(tmp_path: Path) -> None:
    feedback = FeedbackStore(tmp_path)
    live = live_ranker()
    feedback.record(live, EVENTS[0])
    text = feedback.log.read_bytes()
    feedback.log.write_bytes(_renamed(text))
    assert feedback.restore(live) == 1
    assert np.array_equal(live.ranking_weights, live.start)


def _renamed(line: bytes) -> bytes:
    """An event with one item called otherwise, and a checksum that holds."""
    text = line.partition(b" ")[2].rstrip(b"\n").replace(b"i020", b"left")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_a_query_from_outside_is_learned_again_from_its_vectors(tmp_path: Path) -> None:
    feedback, live = FeedbackStore(tmp_path), live_ranker()
    vectors = tuple(vector + 0.25 for vector in live.vectors("i004"))
    feedback.record(live, Feedback("holiday.jpg", ("i010",), ("i011",), vectors))
    again = live_ranker()
    feedback.restore(again)
    assert same(again, live)
    assert not np.array_equal(again.ranking_weights, again.start)
