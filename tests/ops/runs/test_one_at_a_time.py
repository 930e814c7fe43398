"""One run at a time, between real processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from mediarank.ops.runs.one_at_a_time import one_run, take

HOLDER = """
import sys, time
from pathlib import Path
from mediarank.ops.runs.one_at_a_time import one_run
with one_run(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(root: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_waits_and_says_for_whom(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    said: list[str] = []
    heard, inside = threading.Event(), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        heard.set()

    def second() -> None:
        with one_run(tmp_path, say, pause=0.05):
            inside.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert heard.wait(30)
    assert not inside.is_set()
    holder.communicate()
    assert inside.wait(30)
    thread.join()
    assert len(said) == 1
    assert re.search(rf"process {holder.pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d", said[0])


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    holder.kill()
    holder.communicate()
    said: list[str] = []
    with one_run(tmp_path, said.append):
        pass
    assert said == []


def test_the_lock_lasts_as_long_as_a_child_that_has_it(tmp_path: Path) -> None:
    said: list[str] = []
    with one_run(tmp_path, said.append) as handle:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(handle,))

    def let_go(text: str) -> None:
        said.append(text)
        child.communicate(b"\n")

    with one_run(tmp_path, let_go, pause=0.05):
        assert len(said) == 1
        assert f"process {os.getpid()}" in said[0]


def test_what_was_taken_early_is_gone_on_with(tmp_path: Path) -> None:
    held = take(tmp_path)
    assert held is not None
    assert take(tmp_path) is None
    said: list[str] = []
    with one_run(tmp_path, said.append, held) as handle:
        assert handle == held
        assert take(tmp_path) is None
    assert said == []
    again = take(tmp_path)
    assert again is not None
    os.close(again)
