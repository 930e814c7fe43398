"""Guarded children: one bad item costs one item, in order, with a reason, and leaves no process behind."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_for

from mediarank.media.guard import Failed, guarded_map
from mediarank.types import ConfigError, MachineFault, MediaError, MediarankError


@pytest.fixture(autouse=True)
def _two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "2")


POISONED: list[bool] = []


def behave(item: int | str) -> int:
    """Square a number, or misbehave in the way that is asked for."""
    if item == "segfault":
        ctypes.string_at(0)
    if item == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "exit":
        os._exit(3)
    if item == "spin":
        while True:
            pass
    if item == "sleep":
        time.sleep(600)
    if isinstance(item, str) and item.startswith("errno "):
        raise OSError(int(item.split()[1]), "the machine failed", "some/file")
    if item == "poison":  # as a decoder that writes beyond its memory: nothing happens yet
        POISONED.append(True)
        return 0
    if item == "fragile" and POISONED:
        os._exit(3)
    if item == "fragile":
        return 1
    if item == "refuse":
        raise MediaError("It is not to my liking.")
    if item == "bug":
        raise KeyError("nothing")
    if item == "greedy":
        return len(np.ones(2 * 1024**3, np.uint8))
    if item == "noisy":
        os.write(2, b"decoder chatter\n")
        return -1
    if item == "unpicklable":
        return lambda: 0  # type: ignore[return-value]
    assert isinstance(item, int)
    return item * item


def reasons(outcomes: list[int | Failed]) -> dict[int, str]:
    return {index: outcome.reason for index, outcome in enumerate(outcomes) if isinstance(outcome, Failed)}


def test_outcomes_in_order() -> None:
    assert guarded_map(behave, list(range(300)), "squares", 60) == [i * i for i in range(300)]
    assert guarded_map(behave, [], "nothing", 60) == []


@pytest.mark.parametrize(
    ("crash", "cause"), [("segfault", "SIGSEGV in string_at, ctypes/__init__.py line "), ("exit", "exit code 3)")]
)
def test_a_crash_costs_one_item(crash: str, cause: str) -> None:
    items: list[int | str] = list(range(60))
    items[20] = crash
    outcomes = guarded_map(behave, items, "crash", 60)
    assert list(reasons(outcomes)) == [20]
    assert cause in reasons(outcomes)[20]
    assert [outcomes[i] for i in range(60) if i != 20] == [i * i for i in range(60) if i != 20]


def test_an_item_is_not_blamed_for_what_others_did_to_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    items: list[int | str] = ["poison", "fragile", "poison", 3]
    assert guarded_map(behave, items, "poison", 60) == [0, 1, 0, 9]


def test_a_hang_costs_one_item() -> None:
    items: list[int | str] = [0, 1, "spin", 3, "spin", 5]
    outcomes = guarded_map(behave, items, "hang", timeout_seconds=1.0)
    assert reasons(outcomes) == dict.fromkeys((2, 4), "Decoding it took more than 1 s and was ended.")
    assert [outcomes[i] for i in (0, 1, 3, 5)] == [0, 1, 9, 25]


def test_every_kind_of_trouble_at_once() -> None:
    trouble = ["segfault", "refuse", "refuse", "bug", "greedy", "unpicklable", "exit"]
    outcomes = guarded_map(behave, [*trouble, 7, *trouble, 8], "trouble", 60, memory_bytes=1024**3)
    found = reasons(outcomes)
    assert (outcomes[7], outcomes[15]) == (49, 64)
    assert list(found) == [*range(7), *range(8, 15)]
    assert found[2] == "It is not to my liking."
    assert found[3].startswith("KeyError")
    assert "more memory" in found[4]
    assert "can't be sent back" in found[5]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EROFS])
def test_a_fault_of_the_machine_stops_everything_and_blames_no_item(code: int) -> None:
    items: list[int | str] = [*range(10), f"errno {code}", *range(10)]
    with pytest.raises(MachineFault, match=r"run it again.*No file was quarantined") as caught:
        guarded_map(behave, items, "fault", 60)
    assert os.strerror(code) in str(caught.value)
    assert "some/file" in str(caught.value)


def test_an_error_that_only_a_file_can_cause_costs_one_item() -> None:
    outcomes = guarded_map(behave, [1, f"errno {errno.ENAMETOOLONG}", 3], "too long", 60)
    assert list(reasons(outcomes)) == [1]


def test_a_right_that_a_child_lacks_is_not_the_fault_of_a_file() -> None:
    with pytest.raises(MachineFault, match="some/file"):
        guarded_map(behave, [1, f"errno {errno.EACCES}", 3], "denied", 60)


def test_a_child_that_the_system_kills_twice_stops_everything() -> None:
    with pytest.raises(MachineFault, match="memory"):
        guarded_map(behave, [1, 2, "kill", 4], "out of memory", 60)


def test_an_item_that_waits_without_working_stops_everything() -> None:
    """Its time is over twice, and it used no processor: the disk does not answer."""
    with pytest.raises(MachineFault, match="without using the processor"):
        guarded_map(behave, [1, "sleep", 3], "waiting", timeout_seconds=60, wall_seconds=2.0)


def running_out(_: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1, 1))
    raise MemoryError


def test_a_machine_without_memory_is_not_the_fault_of_a_file() -> None:
    with pytest.raises(MachineFault, match="out of memory"):
        guarded_map(running_out, [1], "memory", 60)


def killed_once(path: Path) -> str:
    """Kills its process the first time, and is fine the second."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def test_a_crash_that_does_not_come_again_costs_nothing(tmp_path: Path) -> None:
    """The kernel may have killed for memory; or the item before had spoilt the process."""
    paths = [tmp_path / str(number) for number in range(4)]
    assert guarded_map(killed_once, paths, "once", 60) == ["0", "1", "2", "3"]


def test_a_child_serves_many_items() -> None:
    assert len(set(guarded_map(pid_for, list(range(200)), "pids", 60))) <= 2


def pid_for(_: int) -> int:
    return os.getpid()


def threads_for(_: int) -> list[int]:
    import cv2
    from threadpoolctl import threadpool_info

    return [cv2.getNumThreads(), *(pool["num_threads"] for pool in threadpool_info())]


def test_children_have_one_thread_each() -> None:
    for counts in guarded_map(threads_for, [0, 1], "threads", 60):
        assert not isinstance(counts, Failed)
        assert set(counts) == {1}


def test_the_number_of_children_is_that_of_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    assert len(set(guarded_map(pid_for, list(range(50)), "pids", 60))) == 1
    monkeypatch.setenv("MEDIARANK_JOBS", "none")
    with pytest.raises(ConfigError):
        guarded_map(pid_for, [1], "pids", 60)


def test_chatter_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    assert guarded_map(behave, ["noisy", 2], "talk", 60) == [-1, 4]
    errors = capfd.readouterr().err
    assert "chatter" not in errors
    assert "talk: 2 of 2" in errors


def test_a_function_that_can_not_be_found_is_an_error_not_a_reason() -> None:
    with pytest.raises((AttributeError, MediarankError)):
        guarded_map(lambda item: item, [1, 2], "lambda", 60)


PARENT = """
import os, sys, time
from pathlib import Path
sys.path[:0] = {tests!r}
from test_media_guard import note_and_sleep
from mediarank.media.guard import guarded_map
if __name__ == "__main__":
    guarded_map(note_and_sleep, [Path({folder!r}, str(n)) for n in range(2)], "sleepers", 500)
"""


def note_and_sleep(path: Path) -> None:
    path.write_text(str(os.getpid()))
    time.sleep(500)


def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(tests=[str(folder) for folder in Path(__file__).parents[:2]], folder=str(tmp_path)))
    parent = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "MEDIARANK_JOBS": "2"})
    try:
        notes = [tmp_path / "0", tmp_path / "1"]
        wait_for(lambda: all(note.exists() and note.read_text() for note in notes))
        children = [int(note.read_text()) for note in notes]
        assert all(map(is_alive, children))
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not any(map(is_alive, children)))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
