"""`up` and `down` for real: servers on free ports, a run started through the API, one cancelled, nothing left."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pytest
import toy_project
from waiting import wait_for

from mediarank.ops.services import access, environment, processes
from mediarank.ops.services import local as services
from mediarank.types import ConfigError, MediarankError


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(address: str, body: Any = None, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
    method = "GET" if body is None else "POST"
    request = urllib.request.Request(address, method=method, headers=dict(headers))  # noqa: S310 - loopback
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
                text = answer.read().decode()
                return json.loads(text) if text.startswith(("{", "[")) else text
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.2)  # Prefect's way of saying that its database is busy: ask again
    raise TimeoutError(address)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_PREFECT_PORT", str(free_port()))
    monkeypatch.setenv("MEDIARANK_MLFLOW_PORT", str(free_port()))
    monkeypatch.setenv("MEDIARANK_EXPLORER_PORT", str(free_port()))
    # Settings of other tests must not reach the servers of this one.
    for name in ("PREFECT_HOME", "PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path, ports: None) -> Iterator[Path]:
    made = toy_project.with_flows(toy_project.make(tmp_path / "project"))
    yield made
    services.down(made, say=lambda _: None)


def answer(address: str, method: str, headers: Mapping[str, str], body: bytes | None = None) -> tuple[int, Any, bytes]:
    host, port = address.removeprefix("http://").split("/", 1)[0].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    path = "/" + address.removeprefix("http://").split("/", 1)[1]
    connection.request(method, path, body, dict(headers))
    found = connection.getresponse()
    content = found.read()
    connection.close()
    return found.status, found.headers, content


PREFECT_READS = ("/api/deployments/filter", "/api/flow_runs/filter", "/api/variables/filter", "/api/admin/settings")
MLFLOW_READS = ("/api/2.0/mlflow/experiments/search?max_results=5", "/ajax-api/2.0/mlflow/runs/search")


def refused_elsewhere(addresses: Mapping[str, str], entry: Mapping[str, str]) -> None:
    """From another page, by another name, or without the password: nothing changes and nothing can be read."""
    prefect, mlflow = addresses["prefect"], addresses["mlflow"]
    evil = "http://evil.example"
    own = {"prefect": prefect.removeprefix("http://"), "mlflow": mlflow.removeprefix("http://")}
    json_body = {"Content-Type": "application/json"}
    variable = json.dumps({"name": "evil", "value": "1"}).encode()
    experiment = json.dumps({"name": "evil"}).encode()

    # A preflight from another page is not granted, and neither is the request that it announces.
    ask_first = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for address in (f"{prefect}/api/variables/", f"{mlflow}/api/2.0/mlflow/experiments/create"):
        status, headers, _ = answer(address, "OPTIONS", {"Origin": evil, **ask_first})
        assert headers.get("access-control-allow-origin") in (None, ""), (address, status)
    for headers in (
        {"Origin": evil},
        {"Origin": evil, **entry},
        {"Origin": "null", **entry},
        {"Host": "evil.example", **entry},
        {"Host": f"evil.example:{own['prefect'].split(':')[1]}", **entry},
        {},
        {"Authorization": "Basic bWVkaWFyYW5rOg=="},
    ):
        for content_type in ("application/json", "text/plain"):
            status, _, _ = answer(
                f"{prefect}/api/variables/", "POST", {**headers, "Content-Type": content_type}, variable
            )
            assert status in (401, 403), headers
        for path in PREFECT_READS:
            method = "GET" if path.endswith("settings") else "POST"
            status, found, content = answer(f"{prefect}{path}", method, {**headers, **json_body}, b"{}")
            assert status in (401, 403), (path, headers)
            assert b"nightly" not in content
            assert "access-control-allow-origin" not in found
    names = [v["name"] for v in ask(f"{prefect}/api/variables/filter", {}, entry)]
    assert "evil" not in names

    # MLflow by itself would obey the pages of any other local port.
    origins = [{"Origin": origin} for origin in (evil, "null", "http://localhost:1")]
    for headers in (*origins, {"Host": "evil.example"}, {"Host": "evil.example:5000"}):
        status, _, _ = answer(
            f"{mlflow}/api/2.0/mlflow/experiments/create", "POST", {**headers, **json_body}, experiment
        )
        assert status == 403, headers
        for path in MLFLOW_READS:
            status, found, content = answer(f"{mlflow}{path}", "GET", headers)
            assert status == 403, headers
            assert "access-control-allow-origin" not in found
    found = ask(f"{mlflow}/api/2.0/mlflow/experiments/search", {"max_results": 5})
    assert "evil" not in [e["name"] for e in found["experiments"]]

    explorer = addresses["explorer"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for headers in ({"Origin": evil}, {"Origin": "null"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        for path, method, body in (("/", "GET", None), ("/label", "POST", b"name=evil"), ("/label", "OPTIONS", None)):
            status, found, _ = answer(f"{explorer}{path}", method, {**headers, **form}, body)
            assert status in (403, 421), (path, headers)
            assert "access-control-allow-origin" not in found
    status, _, _ = answer(f"{explorer}/label", "POST", form, b"name=evil")
    assert status >= 400, "without the page's token"


@pytest.mark.slow
@pytest.mark.timeout(900)  # three servers and three runs: under a minute on a machine that is free, not on a busy one
def test_up_runs_cancels_and_down(project: Path) -> None:
    said: list[str] = []
    addresses = services.up(project, said.append)
    records = processes.read_records(project)
    assert set(records) == {"prefect", "mlflow", "explorer", "runner"}
    assert all(address in "\n".join(said) for address in addresses.values())
    api = processes.prefect_api(project)
    assert api == f"{addresses['prefect']}/api"
    entry = access.authorization(access.prefect_access(project))
    refused_elsewhere(addresses, entry)

    # MLflow answers, on a database that is whole.
    found = ask(f"{addresses['mlflow']}/api/2.0/mlflow/experiments/search", {"max_results": 5})
    assert [experiment["name"] for experiment in found["experiments"]] == ["Default"]

    # All that prefect.yaml declares is there, and the nights are planned.
    found = {d["name"]: d for d in ask(f"{api}/deployments/filter", {}, entry)}
    assert set(found) == {"nightly", "ingest", "promote", "rollback"}
    assert all(d["status"] == "READY" for d in found.values())
    assert [bool(found[name]["schedules"]) for name in ("nightly", "ingest", "promote", "rollback")] == [True] + 3 * [
        False
    ]
    deployment = found["nightly"]
    assert deployment["schedules"][0]["schedule"]["cron"] == "0 2 * * *"
    assert deployment["schedules"][0]["active"]
    planned = wait_for(
        lambda: ask(f"{api}/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}, entry)
    )
    assert {night["deployment_id"] for night in planned} == {deployment["id"]}
    assert all(night["expected_start_time"][11:16] == "02:00" or night["auto_scheduled"] for night in planned)

    # A run asked for through the API completes, and its stages are seen.
    def start() -> str:
        plain = {"parameters": {"track": False, "promote": False}}
        made = ask(f"{api}/deployments/{deployment['id']}/create_flow_run", plain, entry)
        return str(made["id"])

    def state(run: str) -> dict[str, Any]:
        found: dict[str, Any] = ask(f"{api}/flow_runs/{run}", headers=entry)["state"]
        return found

    run = start()
    wait_for(lambda: state(run)["type"] in ("COMPLETED", "FAILED", "CRASHED"))
    assert state(run)["type"] == "COMPLETED", state(run)
    wait_for(
        lambda: (
            {
                task["name"]: task["state_name"]
                for task in ask(f"{api}/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}}, entry)
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
    ask(f"{api}/flow_runs/{run}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}}, entry)
    wait_for(lambda: state(run)["type"] == "CANCELLED")
    wait_for(lambda: toy_project.gone(stage) and toy_project.gone(grandchild))

    # ... and a workspace that goes on from there: the same bytes as a plain repro of the same.
    (project / "hold").unlink()
    run = start()
    wait_for(lambda: state(run)["type"] in ("COMPLETED", "FAILED", "CRASHED"))
    assert state(run)["type"] == "COMPLETED", state(run)
    other = toy_project.make(project.parent / "other")
    toy_project.change(other, "report", 50)
    toy_project.plain_repro(other)
    assert toy_project.contents(project) == toy_project.contents(other)

    # Events were emitted.
    def told() -> list[str]:
        answer = ask(f"{api}/events/filter", {"filter": {"event": {"prefix": ["mediarank."]}}, "limit": 50}, entry)
        return sorted(event["event"] for event in answer["events"])

    wait_for(lambda: told() == ["mediarank.run.finished", "mediarank.run.finished"])

    # `up` again starts nothing that runs, and starts again what died.
    psutil.Process(records["mlflow"].pid).kill()
    wait_for(lambda: not records["mlflow"].alive)
    said.clear()
    assert services.up(project, said.append) == addresses
    again = processes.read_records(project)
    assert [name for name in records if records[name].pid == again[name].pid] == ["explorer", "prefect", "runner"]
    assert [line.split(" already runs")[0] for line in said if "already" in line] == [
        "Prefect",
        "The explorer",
        "the deployments of prefect.yaml",
    ]

    # What Prefect calls temporary is in a folder of this user and this project.
    temporary = environment.temporary_folder(project)
    assert temporary.owner() == project.owner()
    assert (temporary / "runner_storage").exists()

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
    # One that is about to end has lost its mark, and may be seen for another moment.
    wait_for(lambda: all(toy_project.gone(process.pid) for process in members))
    assert stranger.poll() is None
    stranger.communicate(b"\n")
    assert not any(processes.in_use(int(address.rsplit(":", 1)[1])) for address in addresses.values())
    assert processes.prefect_api(project) == ""
    services.down(project, said.append)
    assert said[-1] == "Nothing was running."
    assert not temporary.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_clones_are_up_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = services.up(project, say=lambda _: None)
    other = toy_project.with_flows(toy_project.make(project.parent / "other clone"))
    with pytest.raises(services.ServiceError, match=r"choose other ports: .* make up") as taken:
        services.up(other, say=lambda _: None)
    chosen = dict(re.findall(r"(MEDIARANK_\w+_PORT)=(\d+)", str(taken.value)))
    assert len(chosen) == 3, "all of them at once"
    for name, port in chosen.items():
        monkeypatch.setenv(name, port)
    try:
        second = services.up(other, say=lambda _: None)
        assert not set(first.values()) & set(second.values())
        entries = [access.authorization(access.prefect_access(root)) for root in (project, other)]
        for address, own, foreign in ((first, *entries), (second, *reversed(entries))):
            names = {d["name"] for d in ask(f"{address['prefect']}/api/deployments/filter", {}, own)}
            assert names == {"nightly", "ingest", "promote", "rollback"}
            assert answer(f"{address['prefect']}/api/variables/filter", "POST", foreign, b"{}")[0] == 401
    finally:
        services.down(other, say=lambda _: None)
    assert all(record.alive for record in processes.read_records(project).values())


def test_a_port_that_is_taken_is_named_with_its_variable(
    tmp_path: Path, ports: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        monkeypatch.setenv("MEDIARANK_PREFECT_PORT", str(port))
        named = f"Port {port} is taken by process {os.getpid()}.*MEDIARANK_PREFECT_PORT="
        with pytest.raises(services.ServiceError, match=named):
            services.up(tmp_path, say=lambda _: None)
    assert processes.read_records(tmp_path) == {}


def test_the_password_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    first = access.prefect_access(tmp_path)
    assert access.prefect_access(tmp_path) == first
    assert access.prefect_access(tmp_path / "other") != first, "one per project"
    assert stat.S_IMODE(access.access_file(tmp_path).stat().st_mode) == 0o600
    assert len(first) > 30
    access.access_file(tmp_path).chmod(0o644)
    with pytest.raises(MediarankError, match="can be read by other users"):
        access.prefect_access(tmp_path)


def test_a_server_elsewhere_is_not_given_our_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_AUTH_STRING", raising=False)
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example/api")
    assert "PREFECT_API_AUTH_STRING" not in environment.quiet_environment(tmp_path)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert environment.quiet_environment(tmp_path)["PREFECT_API_AUTH_STRING"] == access.prefect_access(tmp_path)


def test_temporary_files_are_below_the_project_unless_its_path_is_too_long_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        assert environment.temporary_folder(short) == short / ".mediarank/tmp"
        monkeypatch.setattr(tempfile, "tempdir", str(short))
        deep = tmp_path / ("d" * 80)
        folder = environment.temporary_folder(deep)
        assert folder.parent == short
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        other = environment.temporary_folder(tmp_path / ("e" * 80))
        assert folder != other, "one per project"
        (folder / "socket").touch()
        environment.remove_temporary_folder(deep)
        assert not folder.exists()
        assert other.exists()
    finally:
        shutil.rmtree(short)


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

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    good = made("good", "import time; time.sleep(600)")
    bad = made("bad", "print('no such table: flow'); raise SystemExit(3)")
    monkeypatch.setattr(services, "services", lambda _: (good, bad))
    with pytest.raises(services.ServiceError, match=r"(?s)bad ended while starting.*no such table: flow"):
        services.up(tmp_path, say=lambda _: None)
    assert processes.read_records(tmp_path) == {}
    assert not list(temporary.iterdir()), "and leave no temporary folder"
    assert not [
        p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE and "600" in str(p.cmdline())
    ]


def test_a_service_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mute = services.Service("mute", "mute", (sys.executable, "-c", "import time; time.sleep(600)"), lambda _: False)
    monkeypatch.setattr(services, "services", lambda _: (mute,))
    with pytest.raises(services.ServiceError, match="does not answer in time"):
        services.up(tmp_path, say=lambda _: None, seconds=0.5)
