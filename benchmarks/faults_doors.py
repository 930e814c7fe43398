"""Ask every server of `make up` from another web page and by another name of this machine.

`mediarank serve` is asked the same in `faults_bodies`, which starts one.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from mediarank.ops.services import access, local, processes

FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},  # another program of this machine
    {"Host": "evil.example"},
)
DOORS: dict[str, tuple[str, Any, str]] = {
    "prefect": ("/api/variables/", {"name": "evil", "value": "1"}, "/api/version"),
    "mlflow": (
        "/api/2.0/mlflow/experiments/create",
        {"name": "evil"},
        "/api/2.0/mlflow/experiments/search?max_results=5",
    ),
    "explorer": ("/label", "item=a&name=evil&value=1", "/static/icon.svg"),
}
"""Of each server of `make up`: a path and a body that change something, and a path that shows something."""
KINDS = ("application/json", "text/plain", "application/x-www-form-urlencoded")
ALLOWED = "access-control-allow-origin"
PATIENCE = 240


def doors(folder: Path) -> dict[str, int]:
    """Start the servers, and count what other pages can change or read there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prefect.yaml").write_text("deployments: []\n")
    with mock.patch.dict(os.environ):
        for name in ("MEDIARANK_PREFECT_PORT", "MEDIARANK_MLFLOW_PORT", "MEDIARANK_EXPLORER_PORT"):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                os.environ[name] = str(probe.getsockname()[1])
        wanted = [service for service in local.services(folder) if service.port]
        records: dict[str, processes.Record] = {}
        entry = access.authorization(access.prefect_access(folder))
        try:
            for service in wanted:
                service.prepare()
                records[service.name] = processes.launch(
                    folder, service.name, service.command, service.address, service.variables
                )
            deadline = time.monotonic() + PATIENCE
            for service in wanted:
                while not service.answers(records[service.name]):
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"{service.what} does not answer:\n{processes.tail(records[service.name])}")
                    time.sleep(0.3)
            changes = sum(let_in(service.port, entry, *DOORS[service.name]) for service in wanted)
            without, _ = ask(wanted[0].port, "POST", "/api/variables/filter", {"Content-Type": KINDS[0]}, {})
            deaths = sum(not record.alive for record in records.values())
        finally:
            for record in records.values():
                processes.end(record)
    return {"cross_origin_changes": changes + (without != 401), "server_deaths": deaths}


def let_in(port: int, entry: Mapping[str, str], change: str, body: Any, shown: str) -> int:
    """Requests from elsewhere that a server carries out, or whose answer another page could read."""
    found = 0
    for headers in FOREIGN:
        for kind in KINDS:
            status, answered = ask(port, "POST", change, {**headers, **entry, "Content-Type": kind}, body)
            found += status < 400 or ALLOWED in answered
        _, answered = ask(port, "OPTIONS", change, {**headers, "Access-Control-Request-Method": "POST"})
        found += ALLOWED in answered
        status, answered = ask(port, "GET", shown, {**headers, **entry})
        found += ALLOWED in answered or status < 400
    return found


def ask(port: int, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    connection.request(method, path, text, dict(headers))
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers
