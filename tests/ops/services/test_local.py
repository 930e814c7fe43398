"""`up` and `down` for real: servers on free ports, a run started through the API, one cancelled, nothing left."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import toy_project

from mediarank.ops.services import local as services
from mediarank.ops.services import processes
from mediarank.types import ConfigError


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(address: str, body: Any = None) -> Any:
    request = urllib.request.Request(address, method="GET" if body is None else "POST")  # noqa: S310 - loopback
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
                text = answer.read().decode()
                return json.loads(text) if text.startswith(("{", "[")) else text
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.2)  # Prefect's way of saying that its database is busy: ask again
    raise TimeoutError(address)


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_PREFECT_PORT", str(free_port()))
    monkeypatch.setenv("MEDIARANK_MLFLOW_PORT", str(free_port()))
    # What other tests told this process must not reach the servers of this one.
    for name in ("PREFECT_HOME", "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path, ports: None) -> Iterator[Path]:
    made = toy_project.with_flows(toy_project.make(tmp_path / "project"))
    yield made
    services.down(made, say=lambda _: None)


@pytest.mark.slow
@pytest.mark.timeout(900)  # three servers and three runs: under a minute on a machine that is free, not on a busy one
def test_up_runs_cancels_and_down(project: Path) -> None:
    said: list[str] = []
    addresses = services.up(project, said.append)
    records = processes.read_records(project)
    assert set(records) == {"prefect", "mlflow", "runner"}
    assert all(address in "\n".join(said) for address in addresses.values())
    api = processes.prefect_api(project)
    assert api == f"{addresses['prefect']}/api"

    # MLflow answers, on a database that is whole.
    found = ask(f"{addresses['mlflow']}/api/2.0/mlflow/experiments/search", {"max_results": 5})
    assert [experiment["name"] for experiment in found["experiments"]] == ["Default"]

    # All that prefect.yaml declares is there, and the nights are planned.
    found = {d["name"]: d for d in ask(f"{api}/deployments/filter", {})}
    assert set(found) == {"nightly", "ingest", "promote", "rollback"}
    assert all(d["status"] == "READY" for d in found.values())
    assert [bool(found[name]["schedules"]) for name in ("nightly", "ingest", "promote", "rollback")] == [True] + 3 * [
        False
    ]
    deployment = found["nightly"]
    assert deployment["schedules"][0]["schedule"]["cron"] == "0 2 * * *"
    assert deployment["schedules"][0]["active"]
    planned = wait_for(
        lambda: ask(f"{api}/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}})
    )
    assert {night["deployment_id"] for night in planned} == {deployment["id"]}
    assert all(night["expected_start_time"][11:16] == "02:00" or night["auto_scheduled"] for night in planned)

    # A run asked for through the API completes, and its stages are seen.
    def start() -> str:
        plain = {"parameters": {"track": False, "promote": False}}
        made = ask(f"{api}/deployments/{deployment['id']}/create_flow_run", plain)
        return str(made["id"])

    def state(run: str) -> dict[str, Any]:
        found: dict[str, Any] = ask(f"{api}/flow_runs/{run}")["state"]
        return found

    run = start()
    wait_for(lambda: state(run)["type"] in ("COMPLETED", "FAILED", "CRASHED"))
    assert state(run)["type"] == "COMPLETED", state(run)
    wait_for(
        lambda: (
            {
                task["name"]: task["state_name"]
                for task in ask(f"{api}/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
            }
            == dict.fromkeys(toy_project.STAGES, "Completed")
        )
    )

    # One that is cancelled leaves no process.
    toy_project.change(project, "report", 50)
    (project / "hold").write_text("report")
    run = start()
    wait_for((project / "pids").exists)
    stage, grandchild = map(int, (project / "pids").read_text().split())
    ask(f"{api}/flow_runs/{run}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})
    wait_for(lambda: state(run)["type"] == "CANCELLED")
    wait_for(lambda: toy_project.gone(stage) and toy_project.gone(grandchild), seconds=30)

    # ... and a workspace that goes on from there: the same bytes as a plain repro of the same.
    (project / "hold").unlink()
    run = start()
    wait_for(lambda: state(run)["type"] in ("COMPLETED", "FAILED", "CRASHED"))
    assert state(run)["type"] == "COMPLETED", state(run)
    other = toy_project.make(project.parent / "other")
    toy_project.change(other, "report", 50)
    toy_project.plain_repro(other)
    assert toy_project.contents(project) == toy_project.contents(other)

    # What happened was told.
    def told() -> list[str]:
        answer = ask(f"{api}/events/filter", {"filter": {"event": {"prefix": ["mediarank."]}}, "limit": 50})
        return sorted(event["event"] for event in answer["events"])

    wait_for(lambda: told() == ["mediarank.run.finished", "mediarank.run.finished"])

    # `up` again starts nothing that runs, and starts again what died.
    psutil.Process(records["mlflow"].pid).kill()
    wait_for(lambda: not records["mlflow"].alive)
    said.clear()
    assert services.up(project, said.append) == addresses
    again = processes.read_records(project)
    assert [name for name in records if records[name].pid == again[name].pid] == ["prefect", "runner"]
    assert [line.split(" already runs")[0] for line in said if "already" in line] == [
        "Prefect",
        "the deployments of prefect.yaml",
    ]

    # `down` ends all of it, and a stage that runs with it, but not what is not ours.
    (project / "pids").unlink()
    toy_project.change(project, "report", 51)
    (project / "hold").write_text("report")
    start()
    wait_for((project / "pids").exists)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=project)
    members = [process for record in again.values() for process in record.members()]
    assert len(members) >= 3
    services.down(project, said.append)
    assert not any(record.members() for record in again.values())
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in members)
    assert stranger.poll() is None
    stranger.communicate(b"\n")
    assert not any(processes.in_use(int(address.rsplit(":", 1)[1])) for address in addresses.values())
    assert processes.prefect_api(project) == ""
    services.down(project, said.append)
    assert said[-1] == "Nothing was running."


def test_a_port_that_is_taken_is_named_with_its_variable(
    tmp_path: Path, ports: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        monkeypatch.setenv("MEDIARANK_PREFECT_PORT", str(port))
        with pytest.raises(services.ServiceError, match=f"Port {port} is taken.*MEDIARANK_PREFECT_PORT={port + 1}"):
            services.up(tmp_path, say=lambda _: None)
    assert processes.read_records(tmp_path) == {}


@pytest.mark.parametrize("text", ["eighty", "0", "70000", "-1"])
def test_a_port_must_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MEDIARANK_MLFLOW_PORT", text)
    with pytest.raises(ConfigError, match="MEDIARANK_MLFLOW_PORT"):
        services.up(tmp_path)


def test_a_service_that_dies_takes_the_others_with_it_and_shows_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(name: str, program: str) -> services.Service:
        return services.Service(name, name, (sys.executable, "-c", program), lambda _: name == "good")

    good = made("good", "import time; time.sleep(600)")
    bad = made("bad", "print('no such table: flow'); raise SystemExit(3)")
    monkeypatch.setattr(services, "services", lambda _: (good, bad))
    with pytest.raises(services.ServiceError, match=r"(?s)bad ended while starting.*no such table: flow"):
        services.up(tmp_path, say=lambda _: None)
    assert processes.read_records(tmp_path) == {}
    assert not [
        p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE and "600" in str(p.cmdline())
    ]


def test_a_service_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mute = services.Service("mute", "mute", (sys.executable, "-c", "import time; time.sleep(600)"), lambda _: False)
    monkeypatch.setattr(services, "services", lambda _: (mute,))
    with pytest.raises(services.ServiceError, match="does not answer in time"):
        services.up(tmp_path, say=lambda _: None, seconds=0.5)
