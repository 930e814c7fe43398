"""Feedback: who it counts for, what it changes, and that a crash or damage changes no bit of the weights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_live import live_ranker

from mediarank.systems.retrieval.live import Hit, LiveRanker
from mediarank.teaching import taught_ranker as module
from mediarank.teaching.feedback import Event, FeedbackLog, passed_over
from mediarank.teaching.journal import Journal
from mediarank.teaching.taught_ranker import Teacher, moved
from mediarank.teaching.undoing import undo_statements
from mediarank.types import DataError

QUERY = "i000"


def events(count: int, scope: str = "query") -> list[Event]:
    return [
        Event(f"i{k % 10:03d}", (f"i{20 + k % 17:03d}",), (f"i{40 + k % 13:03d}",), scope=scope, id=f"e{k}")  # type: ignore[arg-type]
        for k in range(count)
    ]


def found(teacher: Teacher, query: str = QUERY, session: str = "") -> list[str]:
    return [hit.item for hit in teacher.search(query, teacher.live.vectors(query), 20, session)]


def weights(teacher: Teacher) -> np.ndarray:
    return teacher._everybody["weights"]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FeedbackLog:
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    return FeedbackLog(tmp_path / "feedback")


def test_without_feedback_nothing_changes() -> None:
    live = live_ranker()
    expected = [hit.item for hit in live.search(live.vectors(QUERY), 20, QUERY)]
    assert found(Teacher(live_ranker(), [])) == expected


def test_an_event_counts_for_its_query_and_damped_for_others() -> None:
    plain = Teacher(live_ranker(), [])
    before = found(plain)
    good, bad = before[15], before[0]
    taught = Teacher(live_ranker(), [Event(QUERY, (good,), (bad,))])
    after = found(taught)
    assert after.index(good) < 15
    assert bad not in after[:1]
    own = np.abs(_prepared(taught, QUERY) - weights(plain)).max()
    others = np.abs(_prepared(taught, "i030") - weights(plain)).max()
    assert 0 < others < 0.3 * own


def _prepared(teacher: Teacher, query: str) -> np.ndarray:
    teacher.prepare(query)
    return teacher.live.state()["weights"].copy()


def test_a_session_counts_within_itself_only() -> None:
    plain = Teacher(live_ranker(), [])
    before = found(plain)
    said = Event(QUERY, (before[15],), (before[0],), scope="session", session="today")
    taught = Teacher(live_ranker(), [said])
    assert found(taught) == before
    assert found(taught, session="tomorrow") == before
    assert found(taught, session="today") != before
    with pytest.raises(DataError, match="session"):
        Event(QUERY, ("i001",), scope="session")


def test_everybody_moves_further_than_one_query() -> None:
    start = weights(Teacher(live_ranker(), []))
    damped, full = (
        np.abs(weights(Teacher(live_ranker(), events(5, scope))) - start).max() for scope in ("query", "everybody")
    )
    assert 0 < damped < full


def test_only_what_fits_is_enough() -> None:
    before = found(Teacher(live_ranker(), []))
    implied = passed_over(before, [before[10]])
    assert implied == tuple(before[:10])
    weak = Teacher(live_ranker(), [Event(QUERY, (before[10],), implied=implied)])
    strong = Teacher(live_ranker(), [Event(QUERY, (before[10],), irrelevant=implied)])
    assert found(weak).index(before[10]) < 10
    assert 0 < np.abs(weights(weak) - weak.live.start).max() < np.abs(weights(strong) - strong.live.start).max()
    assert passed_over(["a", "b"], []) == ("a", "b")


def test_one_that_does_not_fit_is_enough_too() -> None:
    before = found(Teacher(live_ranker(), []))
    after = found(Teacher(live_ranker(), [Event(QUERY, (), (before[0],))]))
    assert before[0] not in after or after.index(before[0]) > 0


def test_it_says_what_moved() -> None:
    before = Teacher(live_ranker(), []).search(QUERY, live_ranker().vectors(QUERY), 20)
    assert "nothing changed" in str(moved(before, before))
    swapped = [before[1], before[0], *before[2:]]
    assert str(moved(before, swapped)) == "2 of the first 20 changed, none of them new there"
    entered = [Hit("other", 9.0), *before[1:]]
    assert str(moved(before, entered)) == "1 of the first 20 changed, 1 of them new there"


@pytest.mark.parametrize("count", [0, 19, 20, 21, 47])
def test_snapshots_change_no_bit(tmp_path: Path, count: int) -> None:
    said = events(count, "everybody")
    snapshot = tmp_path / "s.npz"
    for upto in range(count + 1):
        last = Teacher(live_ranker(), said[:upto], snapshot=snapshot)
    assert snapshot.exists() == (count >= 20)
    again = Teacher(live_ranker(), said, snapshot=snapshot)
    fresh = Teacher(live_ranker(), said)
    for one in (last, again):
        assert all(np.array_equal(one._everybody[name], fresh._everybody[name]) for name in fresh._everybody)


def test_a_snapshot_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, snapshot = events(45), tmp_path / "s.npz"
    Teacher(live_ranker(), said, snapshot=snapshot)
    learned: list[object] = []
    learn = LiveRanker.learn
    monkeypatch.setattr(LiveRanker, "learn", lambda *a, **k: (learned.append(a), learn(*a, **k))[1])
    Teacher(live_ranker(), said, snapshot=snapshot)
    assert len(learned) == 5


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "empty"])
def test_a_damaged_snapshot_is_made_again(tmp_path: Path, damage: str) -> None:
    said, snapshot = events(25, "everybody"), tmp_path / "s.npz"
    expected = weights(Teacher(live_ranker(), said, snapshot=snapshot))
    whole = snapshot.read_bytes()
    middle = len(whole) // 2
    snapshot.write_bytes(
        {
            "cut": whole[:middle],
            "flip": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
            "text": b"not a snapshot",
            "empty": b"",
        }[damage]
    )
    assert np.array_equal(weights(Teacher(live_ranker(), said, snapshot=snapshot)), expected)
    assert snapshot.read_bytes() == whole


def test_an_undone_or_reordered_event_makes_the_snapshot_useless(tmp_path: Path) -> None:
    said, snapshot = events(25, "everybody"), tmp_path / "s.npz"
    Teacher(live_ranker(), said, snapshot=snapshot)
    less = [*said[:3], *said[4:]]
    assert np.array_equal(
        weights(Teacher(live_ranker(), less, snapshot=snapshot)), weights(Teacher(live_ranker(), less))
    )
    renewed = Teacher(live_ranker(weights=0.3), said, snapshot=snapshot)
    assert np.array_equal(weights(renewed), weights(Teacher(live_ranker(weights=0.3), said)))


def test_everybody_never_ranks_validation_queries_worse() -> None:
    said = events(40, "everybody")
    start = weights(Teacher(live_ranker(), []))

    def likes_the_start(live: LiveRanker) -> float:
        return -float(np.abs(live.state()["weights"] - start).max())

    def likes_a_little(live: LiveRanker) -> float:
        away = float(np.abs(live.state()["weights"] - start).max())
        return 0.0 if away <= 0.5 * far + 1e-12 else -away

    assert Teacher(live_ranker(), said, likes_the_start).share == 0
    assert np.array_equal(weights(Teacher(live_ranker(), said, likes_the_start)), start)
    far = float(np.abs(weights(Teacher(live_ranker(), said)) - start).max())
    assert Teacher(live_ranker(), said, likes_a_little).share == 0.5
    assert Teacher(live_ranker(), said, lambda live: float("nan")).share == 1


def test_events_about_items_that_are_gone_are_counted() -> None:
    said = [Event(QUERY, ("left",), ("i001",)), *events(2)]
    teacher = Teacher(live_ranker(), said)
    assert teacher.left_out == 1
    assert np.array_equal(weights(teacher), weights(Teacher(live_ranker(), events(2))))


@pytest.mark.parametrize(("relevant", "irrelevant"), [(("i001",), ("i001",)), ((), ()), ((QUERY,), ("i001",))])
def test_what_makes_no_sense_is_refused(relevant: tuple[str, ...], irrelevant: tuple[str, ...]) -> None:
    with pytest.raises(DataError):
        Event(QUERY, relevant, irrelevant)


def test_events_are_kept_listed_and_taken_back(log: FeedbackLog) -> None:
    vectors = tuple(vector + np.float32(0.25) for vector in live_ranker().vectors("i004"))
    first = log.record(Event("mine.jpg", ("i010",), ("i011",), sha256="abc", vectors=vectors))
    second = log.record(Event(QUERY, ("i010",), implied=("i011", "i012"), scope="everybody"))
    read, damaged = log.read()
    assert read == [first, second]
    assert damaged == ()
    assert all(np.array_equal(a, b) for a, b in zip(read[0].vectors, vectors, strict=True))
    teacher = Teacher(live_ranker(), read)
    assert teacher.left_out == 0
    assert read[0].about("renamed.jpg", "abc")
    undo_statements(log.folder, second.id, "cli")
    assert log.read()[0] == [first]


def test_a_damaged_line_loses_that_event_only(log: FeedbackLog) -> None:
    for event in events(3):
        log.record(event)
    (path,) = Journal(log.folder).files()
    path.write_bytes(path.read_bytes().replace(b"i021", b"i029", 1))
    read, damaged = log.read()
    assert [e.query for e in read] == ["i000", "i002"]
    assert len(damaged) == 1
    log.record(events(4)[3])
    assert [e.query for e in log.read()[0]] == ["i000", "i002", "i003"]


CHILD = """
import os, signal, sys
sys.path[:0] = sys.argv[2:3]
from pathlib import Path
from made_live import live_ranker
from mediarank import store
from mediarank.teaching.feedback import Event, FeedbackLog
from mediarank.teaching.taught_ranker import Teacher

folder, log = Path(sys.argv[1]), FeedbackLog(Path(sys.argv[1]) / "feedback")
if sys.argv[3] == "snapshot":
    store.write_arrays = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
for k in range(25):
    log.record(Event(f"i{k % 10:03d}", (f"i{20 + k:03d}",), ("i050",), scope="everybody"))
    if k == 22 and sys.argv[3] == "log":
        os.kill(os.getpid(), signal.SIGKILL)
    Teacher(live_ranker(), log.read()[0], snapshot=folder / "s.npz")
"""


@pytest.mark.parametrize(("where", "kept"), [("snapshot", 20), ("log", 23)])
def test_a_crash_loses_nothing(tmp_path: Path, where: str, kept: int) -> None:
    words = [str(tmp_path), str(Path(__file__).parents[1] / "systems"), where]
    environment = {**os.environ, "MEDIARANK_AUTHOR": "ada"}
    child = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, env=environment, check=False)
    assert child.returncode == -signal.SIGKILL, child.stderr
    read, _ = FeedbackLog(tmp_path / "feedback").read()
    assert len(read) == kept
    restored = Teacher(live_ranker(), read, snapshot=tmp_path / "s.npz")
    assert np.array_equal(weights(restored), weights(Teacher(live_ranker(), read))), "bit by bit"


def test_constants_make_sense() -> None:
    assert tuple(sorted(module.SHARES, reverse=True)) == module.SHARES
    assert module.DAMPED > 1 < module.IMPLIED
