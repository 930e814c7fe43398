"""The pipeline is started through Prefect when it is up, and its stages are shown; the server here is a stand-in."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mediarank.explorer import running
from mediarank.types import MediarankError


class StandIn(BaseHTTPRequestHandler):
    """Answers as Prefect's server does to the questions that are asked of it."""

    asked: list[tuple[str, Any, bool]] = []  # noqa: RUF012 - shared on purpose, emptied by the fixture
    state = "RUNNING"

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, body: Any) -> None:
        StandIn.asked.append((self.path, body, self.headers.get("Authorization", "").startswith("Basic ")))
        answers: dict[str, Any] = {
            "/api/deployments/name/pipeline/nightly": {"id": "d1"},
            "/api/deployments/d1/create_flow_run": {"id": "f1"},
            "/api/flow_runs/f1": {"state_type": StandIn.state},
            "/api/task_runs/filter": [{"name": "manifest", "state_name": "Cached"}],
        }
        data = json.dumps(answers.get(self.path, {})).encode()
        self.send_response(200 if self.path in answers else 404)
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def prefect(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    StandIn.asked, StandIn.state = [], "RUNNING"
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api = f"http://127.0.0.1:{server.server_port}/api"
    monkeypatch.setattr(running, "prefect_api", lambda root: api)
    yield api
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_run_in_prefect_is_started_once_and_followed_to_its_end(prefect: str, tmp_path: Path) -> None:
    run = running.Running()
    assert not run.state(tmp_path).alive
    run.start(tmp_path)
    state = run.state(tmp_path)
    assert state.alive
    assert "manifest: cached" in state.lines
    assert state.address.endswith("/runs/flow-run/f1")
    with pytest.raises(MediarankError, match="already"):
        run.start(tmp_path)
    StandIn.state = "FAILED"
    assert (run.state(tmp_path).alive, run.state(tmp_path).code) == (False, 1)
    assert sum(path.endswith("create_flow_run") for path, _, _ in StandIn.asked) == 1
    started = [body for path, body, _ in StandIn.asked if path.endswith("create_flow_run")]
    assert started == [{"parameters": {"promote": False}}], "the deployment's own default would promote"
    assert all(with_password for _, _, with_password in StandIn.asked)


def test_a_server_that_answers_nonsense_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "prefect_api", lambda root: "http://127.0.0.1:1/api")
    with pytest.raises(MediarankError, match="Prefect"):
        running.Running().start(tmp_path)
