"""Marks identify our processes: real processes, some of which refuse to end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest
from waiting import wait_for

from mediarank.ops.services import processes

SLEEP = "time.sleep(600)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of services whose project has a long path are left to `down`, which nothing here calls."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def launch(root: Path, *lines: str) -> processes.Record:
    root.mkdir(exist_ok=True)
    program = "\n".join(["import signal, subprocess, sys, time", *lines])
    return processes.launch(root, "some", [sys.executable, "-c", program], "http://127.0.0.1:1", {"COLOUR": "blue"})


def test_a_record_survives_being_written(tmp_path: Path) -> None:
    record = launch(tmp_path, SLEEP)
    processes.write_records(tmp_path, {"some": record})
    (read,) = processes.read_records(tmp_path).values()
    assert read == record
    assert read.alive
    processes.end(read)
    assert not read.alive
    processes.write_records(tmp_path, {})
    assert processes.read_records(tmp_path) == {}


def test_a_copy_of_the_project_has_started_nothing(tmp_path: Path) -> None:
    record = launch(tmp_path / "one", SLEEP)
    processes.write_records(tmp_path / "one", {"some": record})
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert processes.read_records(tmp_path / "two") == {}
    assert processes.read_records(tmp_path / "one") == {"some": record}
    processes.end(record)


def test_its_environment_and_log(tmp_path: Path) -> None:
    record = launch(tmp_path, "import os", "print(os.environ['COLOUR'], os.environ['DO_NOT_TRACK'], os.getcwd())")
    wait_for(lambda: not record.alive)
    assert processes.tail(record) == f"blue true {tmp_path}"


def test_what_came_of_it_is_ended_even_when_its_leader_is_gone(tmp_path: Path) -> None:
    # The grandchild moves to its own session; its mark stays.
    child = f"subprocess.Popen([sys.executable, '-c', 'import time; {SLEEP}'], start_new_session=True)"
    record = launch(tmp_path, child, "print('born', flush=True)", SLEEP)
    wait_for(lambda: len(record.members()) == 2)
    leader = next(process for process in record.members() if process.pid == record.pid)
    leader.kill()
    wait_for(lambda: not record.alive)
    (grandchild,) = record.members()
    processes.end(record)
    assert record.members() == []
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE


def test_what_is_deaf_to_the_request_is_killed(tmp_path: Path) -> None:
    record = launch(tmp_path, DEAF, "print('deaf', flush=True)", SLEEP)
    wait_for(lambda: processes.tail(record) == "deaf")
    processes.end(record, grace=0.5)
    assert record.members() == []


def test_its_port_is_free_when_it_has_ended(tmp_path: Path) -> None:
    """Threads of a killed process may keep it for a moment; here it is another program that does."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        record = processes.Record(2**22 + 1, time.time(), "a mark", f"http://127.0.0.1:{port}", str(tmp_path / "log"))
        threading.Timer(0.3, holder.close).start()
        assert processes.in_use(port)
        processes.end(record)
        assert not processes.in_use(port)


def test_a_recycled_process_id_is_not_ours(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    record = processes.Record(stranger.pid, time.time(), "some mark", "http://127.0.0.1:1", str(tmp_path / "log"))
    assert not record.alive
    processes.end(record)
    assert stranger.poll() is None
    stranger.communicate(b"\n")


def test_the_server_of_this_project_is_found_while_it_runs(tmp_path: Path) -> None:
    assert processes.prefect_api(tmp_path) == ""
    record = launch(tmp_path, SLEEP)
    processes.write_records(tmp_path, {"prefect": record})
    assert processes.prefect_api(tmp_path) == "http://127.0.0.1:1/api"
    processes.end(record)
    assert processes.prefect_api(tmp_path) == ""


def test_records_that_make_no_sense_match_no_process(tmp_path: Path) -> None:
    folder = tmp_path / ".mediarank"
    folder.mkdir()
    for text in ("", "[]", '{"prefect": {"pid": 1}}', '{"prefect": 1}'):
        (folder / "services.json").write_text(text)
        assert processes.read_records(tmp_path) == {}
