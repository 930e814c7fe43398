"""Children and their guard: real processes, real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from toy_project import gone
from waiting import wait_for

from mediarank.ops.runs.stage_processes import Children, RunStopped

PARENT = """
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids.part", "w").write(f"{os.getpid()} {child.pid}")
os.rename("pids.part", "pids")
IGNORE
print("up", flush=True)
time.sleep(600)
"""


def parent(ignore: bool = False) -> list[str]:
    text = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if ignore else ""
    return [sys.executable, "-c", PARENT.replace("IGNORE", text)]


def children(root: Path, grace: float = 5.0, parallel: int = 2) -> Children:
    return Children(root, lambda: parallel, grace=grace)


def pids(root: Path) -> list[int]:
    wait_for((root / "pids").exists)
    return [int(word) for word in (root / "pids").read_text().split()]


def test_lines_are_passed_on_as_they_are_printed_and_the_code_is_kept(tmp_path: Path) -> None:
    # The second line is printed only after the first one has been heard.
    program = (
        "import os, sys, time\n"
        "print('one')\n"
        "while not os.path.exists('heard'): time.sleep(0.01)\n"
        "print('two', file=sys.stderr)\n"
        "sys.exit(7)"
    )

    def hear(line: str) -> None:
        heard.append(line)
        (tmp_path / "heard").touch()

    heard: list[str] = []
    with children(tmp_path) as these:
        ended = these.run([sys.executable, "-c", program], hear, seconds=60)
    assert heard == ["one", "two"]
    assert (ended.code, ended.lines, ended.out_of_time) == (7, ("one", "two"), False)


def test_bytes_that_are_no_text_do_not_stop_the_ear(tmp_path: Path) -> None:
    with children(tmp_path) as these:
        ended = these.run([sys.executable, "-c", "import os; os.write(1, b'a\\xff\\n')"], lambda _: None, seconds=60)
    assert ended.code == 0
    assert ended.lines == ("a\ufffd",)


def test_out_of_time_ends_the_whole_group_even_if_it_ignores_the_request(tmp_path: Path) -> None:
    with children(tmp_path, grace=0.5) as these:
        ended = these.run(parent(ignore=True), lambda _: None, seconds=4)
    assert ended.out_of_time
    assert ended.code == 128 + signal.SIGKILL
    wait_for(lambda: all(map(gone, pids(tmp_path))))


def test_what_a_finished_command_left_behind_is_ended_too(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys\n"
        "quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], **quiet).pid)"
    )
    with children(tmp_path) as these:
        ended = these.run([sys.executable, "-c", program], lambda _: None, seconds=60)
    assert ended.code == 0
    wait_for(lambda: gone(int(ended.lines[0])))


def test_stopping_ends_what_runs_and_starts_no_more(tmp_path: Path) -> None:
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            these.run(parent(), lambda _: None, seconds=600)
        except RunStopped as error:
            outcome.append(error)

    with children(tmp_path) as these:
        thread = threading.Thread(target=work)
        thread.start()
        found = pids(tmp_path)
    thread.join(200)
    assert len(outcome) == 1
    assert all(map(gone, found))
    with pytest.raises(RunStopped):
        these.run(parent(), lambda _: None, seconds=1)


def test_turns_are_limited(tmp_path: Path) -> None:
    inside, most, lock, two = 0, 0, threading.Lock(), threading.Barrier(2)

    def take_a_turn() -> None:
        nonlocal inside, most
        with these.slot():
            with lock:
                inside += 1
                most = max(most, inside)
            two.wait(200)  # broken if only one gets in
            with lock:
                inside -= 1

    with children(tmp_path, parallel=2) as these:
        threads = [threading.Thread(target=take_a_turn) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == 2


def test_the_guard_ends_its_command_when_its_owner_is_killed(tmp_path: Path) -> None:
    owner_program = (
        "import sys; from pathlib import Path; from mediarank.ops.runs.stage_processes import Children\n"
        "Children(Path(sys.argv[1]), lambda: 1, grace=5).run(sys.argv[2:], print, 600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", owner_program, str(tmp_path), *parent()], stdout=subprocess.DEVNULL)
    found = pids(tmp_path)
    owner.kill()  # no chance to clean up
    owner.wait()
    wait_for(lambda: all(map(gone, found)))
