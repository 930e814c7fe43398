"""`make up` and `make down`: the Prefect server, the runner of its deployments, MLflow UI and explorer, on loopback.

`up` starts the services that are not running, waits until all answer and the deployments of `prefect.yaml` are
registered, and returns the addresses. `down` ends exactly these. Ports come from `MEDIARANK_PREFECT_PORT`,
`MEDIARANK_MLFLOW_PORT` and `MEDIARANK_EXPLORER_PORT`.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from mediarank.ops.runs.results import REPORT
from mediarank.ops.runs.tracking import DATABASE, SQLITE, experiment_id, prepare_database, tracking_uri
from mediarank.ops.services.access import access_file, authorization, prefect_access
from mediarank.ops.services.environment import remove_temporary_folder
from mediarank.ops.services.mlflow_app import list_path
from mediarank.ops.services.mlflow_app import variables as mlflow_variables
from mediarank.ops.services.prefect_app import HOSTS
from mediarank.ops.services.processes import (
    Record,
    alone,
    end,
    in_use,
    launch,
    listener,
    read_records,
    tail,
    write_records,
)
from mediarank.types import ConfigError, MediarankError

HOST = "127.0.0.1"
DECLARED = "prefect.yaml"


class ServiceError(MediarankError):
    """A service could not be started."""


@dataclass(frozen=True)
class Service:
    """A service that `up` starts.

    answers : whether it is ready, given the record of its process
    port, variable : where it listens, and the variable that changes it; 0 and empty if it does not listen
    variables : for its environment
    prepare : what to do before it is started
    after : the service that must answer before this one starts, and with which it is restarted
    """

    name: str
    what: str
    command: tuple[str, ...]
    answers: Callable[[Record], bool]
    port: int = 0
    variable: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None
    after: str = ""

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}" if self.port else ""


def services(root: Path) -> tuple[Service, ...]:
    """The services, in the order in which they start."""
    prefect = _port("MEDIARANK_PREFECT_PORT", 4200)
    mlflow = _port("MEDIARANK_MLFLOW_PORT", 5000)
    explorer = _port("MEDIARANK_EXPLORER_PORT", 8765)
    server = f"http://{HOST}:{prefect}"
    access = prefect_access(root)
    passwords = {"PREFECT_API_AUTH_STRING": access, "PREFECT_SERVER_API_AUTH_STRING": access}
    return (
        Service(
            "prefect",
            "Prefect",
            (
                *(sys.executable, "-m", "uvicorn", "--factory", "mediarank.ops.services.prefect_app:create_app"),
                *("--host", HOST, "--port", str(prefect), "--timeout-keep-alive", "5", "--log-level", "warning"),
            ),
            lambda record: _get(f"{record.address}/api/health") is not None,
            prefect,
            "MEDIARANK_PREFECT_PORT",
            {
                "PREFECT_API_URL": f"{server}/api",
                # Without this the UI in the browser uses the default port.
                "PREFECT_SERVER_UI_API_URL": f"{server}/api",
                "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": server,
                HOSTS: f"{HOST}:{prefect},localhost:{prefect}",
                **passwords,
            },
        ),
        Service(
            "mlflow",
            "MLflow",
            (
                *(sys.executable, "-m", "uvicorn", "--factory", "mediarank.ops.services.mlflow_app:create_app"),
                *("--host", HOST, "--port", str(mlflow), "--log-level", "warning"),
            ),
            lambda record: _get(f"{record.address}/health") is not None,
            mlflow,
            "MEDIARANK_MLFLOW_PORT",
            mlflow_variables(tracking_uri(root, SQLITE + DATABASE), f"{HOST}:{mlflow}"),
            prepare=lambda: (root / DATABASE).exists() or prepare_database(root, SQLITE + DATABASE),
        ),
        Service(
            "explorer",
            "The explorer",
            (sys.executable, "-m", "mediarank", "explore", "--port", str(explorer)),
            # Also answers before the first run, when no page has anything to show.
            lambda record: _get(f"{record.address}/static/icon.svg") is not None,
            explorer,
            "MEDIARANK_EXPLORER_PORT",
        ),
        Service(
            "runner",
            f"the deployments of {DECLARED}",
            (sys.executable, str(root / "flows" / "deployments.py")),
            lambda record: all(_registered(server, name, record.started, access) for name in deployments(root)),
            # A run requested in the UI should not wait ten seconds.
            variables={"PREFECT_API_URL": f"{server}/api", "PREFECT_RUNNER_POLL_FREQUENCY": "3", **passwords},
            after="prefect",
        ),
    )


def deployments(root: Path) -> list[str]:
    """The deployments that `prefect.yaml` declares, by Prefect's names: flow and deployment."""
    path = root / DECLARED
    if not path.exists():
        raise ConfigError(f"There is no {DECLARED} in {root}, which says what to run when; run this in the project.")
    entries = yaml.safe_load(path.read_text())["deployments"]
    return [f"{entry['entrypoint'].rsplit(':', 1)[1]}/{entry['name']}" for entry in entries]


def up(root: Path, say: Callable[[str], None] = print, seconds: float = 180.0) -> dict[str, str]:
    """Start the services that are not running; returns the addresses to open, by name.

    seconds : how long all of them together may take to answer
    """
    root = root.resolve()
    wanted = {service.name: service for service in services(root)}
    with alone(root):
        deadline = time.monotonic() + seconds
        records = read_records(root)
        started: list[str] = []
        try:
            for name, service in wanted.items():
                known = records.get(name)
                stays = known is not None and known.alive and known.address == service.address
                if known is not None and stays and service.after not in started:
                    say(f"{service.what} already runs (process {known.pid}).")
                    continue
                if known is not None:  # it died, or it or its server gets another port
                    end(known)
                if service.port and in_use(service.port):
                    raise ServiceError(
                        f"Port {service.port} is taken{listener(service.port)}, so {service.what} can't use it. Stop "
                        f"that program, or choose other ports: {_free_ports(wanted.values())} make up"
                    )
                service.prepare()
                if service.after:
                    _wait(wanted[service.after], records, deadline)
                records[name] = launch(root, name, service.command, service.address, service.variables)
                started.append(name)
                write_records(root, records)
            for service in wanted.values():
                _wait(service, records, deadline)
        except BaseException:
            _end(root, records, started)
            raise
    for what, address in pages(root, wanted).items():
        say(f"{what:<40} {address}")
    say(f"The Prefect UI asks for a password; it is in {access_file(root)}")
    return {name: service.address for name, service in wanted.items() if service.address}


def pages(root: Path, wanted: Mapping[str, Service]) -> dict[str, str]:
    """What there is to open, and exactly where."""
    prefect, mlflow, explorer = (wanted[name].address for name in ("prefect", "mlflow", "explorer"))
    runs = list_path(experiment_id(tracking_uri(root, SQLITE + DATABASE)))
    report = {"The report of the last run": f"{explorer}/report"} if (root / REPORT).exists() else {}
    return {
        "The explorer": explorer,
        **report,
        "Runs, and what starts them (Prefect)": f"{prefect}/runs",
        f"The deployments of {DECLARED}": f"{prefect}/deployments",
        "Versions compared (MLflow)": f"{mlflow}/{runs}",
    }


def down(root: Path, say: Callable[[str], None] = print) -> list[str]:
    """End what `up` started, and nothing else; returns the names of the services that were still running."""
    root = root.resolve()
    with alone(root):
        records = read_records(root)
        running = [name for name, record in records.items() if record.members()]
        _end(root, records, list(records))
    say(f"Ended: {', '.join(running)}." if running else "Nothing was running.")
    return running


def _end(root: Path, records: dict[str, Record], names: list[str]) -> None:
    """End services in reverse order, so that the runner can still sign off at the server."""
    for name in sorted(names, key=lambda name: records[name].started, reverse=True):
        end(records.pop(name))
        write_records(root, records)
    if not records:
        remove_temporary_folder(root)


def _wait(service: Service, records: Mapping[str, Record], deadline: float) -> None:
    record = records[service.name]
    while not service.answers(record):
        if not record.alive:
            raise ServiceError(f"{service.what} ended while starting. The end of {record.log}:\n{tail(record)}")
        if time.monotonic() > deadline:
            raise ServiceError(f"{service.what} does not answer in time. The end of {record.log}:\n{tail(record)}")
        time.sleep(0.2)


def _registered(server: str, deployment: str, since: float, access: str) -> bool:
    """Whether a deployment was registered by the process started at `since`, which now polls for runs."""
    found = _get(f"{server}/api/deployments/name/{deployment}", authorization(access))
    if not isinstance(found, dict) or found.get("status") != "READY":
        return False
    updated = datetime.fromisoformat(str(found["updated"]).replace("Z", "+00:00"))
    return updated.timestamp() >= since


def _get(address: str, headers: Mapping[str, str] = MappingProxyType({})) -> Any:
    """The answer of a page, as JSON or text; None if there is none."""
    request = urllib.request.Request(address, headers=dict(headers))  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - loopback
            text = answer.read().decode()
    except (urllib.error.URLError, OSError, TimeoutError):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _free_ports(services: Iterable[Service]) -> str:
    """An assignment of a free port to each service whose port is taken, for a command line."""
    taken: set[int] = set()
    words = []
    for service in services:
        if service.port and in_use(service.port):
            port = next(p for p in range(service.port + 1, 65536) if p not in taken and not in_use(p))
            taken.add(port)
            words.append(f"{service.variable}={port}")
    return " ".join(words)


def _port(variable: str, default: int) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ConfigError(f"{variable} must be a port number from 1 to 65535, not {text!r}.")
    return int(text)
