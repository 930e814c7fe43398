"""Which server a script uses, and what happens if its own does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mediarank.ops.runs import flow_script as script
from mediarank.ops.services import local, processes
from mediarank.types import MediarankError

ASK = """
import os, sys
from pathlib import Path
from mediarank.ops.runs.flow_script import settle
wait = settle(Path(sys.argv[1]))
wait()
print(os.environ["PREFECT_API_URL"], os.environ["DO_NOT_TRACK"], "prefect" in sys.modules)
"""


def ask(root: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    answer = subprocess.run(
        [sys.executable, "-c", ASK, str(root)], env={**environment, **variables}, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_a_server_that_was_named_comes_first_then_that_of_the_project(tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    record = processes.launch(tmp_path, "prefect", sleep, "http://127.0.0.1:1", {})
    processes.write_records(tmp_path, {"prefect": record})
    try:
        assert ask(tmp_path, PREFECT_API_URL="http://elsewhere/api") == "http://elsewhere/api true False"
        assert ask(tmp_path) == "http://127.0.0.1:1/api true False"
    finally:
        local.down(tmp_path, say=lambda _: None)


def test_a_server_that_does_not_start_shows_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A database in a folder that is a file: nothing can start on that.
    (tmp_path / "file").touch()
    address = f"sqlite+aiosqlite:///{tmp_path}/file/prefect.db"
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", address)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    server = script.TemporaryServer(tmp_path)
    try:
        with pytest.raises(MediarankError, match=r"(?s)does not answer.*temporary-prefect\.log"):
            server.wait()
    finally:
        server.end()
