"""The image's steps without a container engine: what the Dockerfile runs is run here, in a clean environment."""

from __future__ import annotations

import fnmatch
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def clean(folder: Path, *command: str, path: str = "/usr/local/bin:/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this environment but the way to an index."""
    python = Path(sys.executable).resolve().parent
    kept = {
        k: v for k, v in os.environ.items() if k.startswith(("PIP_", "UV_", "SSL_")) or k.lower().endswith("_proxy")
    }
    variables = {**kept, "PATH": f"{path}:{python}", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def steps() -> list[list[str]]:
    return [shlex.split(line.removeprefix("RUN ")) for line in DOCKERFILE.splitlines() if line.startswith("RUN ")]


def test_every_step_is_one_script_of_this_repository() -> None:
    assert steps()
    for step in steps():
        script = ROOT / "docker" / Path(step[0]).name
        assert os.access(script, os.X_OK), step
        assert not {"&&", "||", ";", "|"} & set(step), "the rest belongs into the script"
        assert script.read_text().startswith("#!/bin/sh\n# "), "says what it is for"


def test_what_the_steps_need_is_copied_before_them() -> None:
    """A script that is not in the image yet can't be run, and one that changes often must not come early."""
    here: set[str] = set()
    for line in DOCKERFILE.splitlines():
        if line.startswith("FROM "):
            here = {"everything"} if line.split()[1] == "base" else set()
        elif line.startswith("COPY ") and "--from" not in line:
            here |= {"everything"} if line.endswith(" . .") else {Path(word).name for word in line.split()[1:-1]}
        elif line.startswith("RUN "):
            assert Path(line.split()[1]).name in here or "everything" in here, line


def test_both_targets_run_as_the_user_and_say_how_they_are() -> None:
    parts = re.split(r"^FROM .* AS ", DOCKERFILE, flags=re.MULTILINE)
    stages = {part.split("\n", 1)[0]: part for part in parts[1:]}
    assert list(stages) == ["packages", "base", "pipeline", "serve"]
    assert "\nUSER mediarank\n" in stages["base"]
    assert "USER" not in stages["pipeline"] + stages["serve"], "nothing goes back to root"
    assert "HEALTHCHECK" in stages["serve"]
    for name in ("pipeline", "serve"):
        command = yaml.safe_load(re.findall(r"^CMD (.*)$", stages[name], flags=re.MULTILINE)[0])
        assert (ROOT / command[-1]).exists()


def test_system_packages_are_asked_for_once_and_leave_no_lists(tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    for program in ("apt-get", "rm", "useradd", "install"):
        (fake / program).write_text(f'#!/bin/sh\necho {program} "$@" >> {tmp_path}/called\n')
        (fake / program).chmod(0o755)
    for script in ("system-packages.sh", "user.sh"):
        done = clean(tmp_path, str(ROOT / "docker" / script), path=f"{fake}:/usr/bin:/bin")
        assert done.returncode == 0, done.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert called[0] == "apt-get update"
    assert "--no-install-recommends" in called[1]
    assert {"git", "libgomp1"} <= set(called[1].split())
    assert called[2].startswith("rm -rf /var/lib/apt/lists/")
    assert "--uid 1000 mediarank" in called[3], "a fixed id, so that volumes fit from image to image"
    assert "--owner mediarank" in called[4]


@pytest.mark.slow
def test_environment_and_project_are_installed_compiled(tmp_path: Path) -> None:
    """With a short lock: the whole one takes minutes, and `make env` installs it the same way."""
    project = tmp_path / "project"
    for name in ("docker", "src", "flows", "pyproject.toml", "README.md"):
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(source, project / name, ignore=ignored) if source.is_dir() else shutil.copy(source, project)
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip())
    short = [entry for entry in entries if re.match(r"(setuptools|tzlocal)==", entry)]
    assert len(short) == 2
    (project / "requirements.lock").write_text("\n".join(short) + "\n")
    target = tmp_path / "environment"
    for script in ("python-packages.sh", "project.sh"):
        done = clean(tmp_path, str(project / "docker" / script), str(target))
        assert done.returncode == 0, done.stdout + done.stderr
    done = clean(tmp_path, str(target / "bin/python"), "-c", "import tzlocal, mediarank; print(mediarank.__file__)")
    assert done.stdout.strip() == str(project / "src/mediarank/__init__.py"), done.stderr
    compiled = {path.parent.parent.name for path in target.rglob("*.pyc")}
    assert "tzlocal" in compiled
    assert list((project / "src/mediarank/__pycache__").glob("store.*.pyc"))
    assert list((project / "flows/__pycache__").glob("pipeline.*.pyc"))
    assert (project / ".git").is_dir(), "DVC finds its project by it"
    assert not (tmp_path / ".cache").exists(), "no layer holds a cache"
    # What is not as the lock says is not installed.
    (project / "requirements.lock").write_text(re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", "\n".join(short)))
    done = clean(tmp_path, str(project / "docker/python-packages.sh"), str(tmp_path / "other"))
    assert done.returncode != 0
    assert "HASHES" in done.stderr.upper()


def test_health_checks(tmp_path: Path) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silence."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        check = [sys.executable, str(ROOT / "docker/healthy.py")]
        variables = os.environ | {"PREFECT_API_URL": f"{address}/api"}
        assert subprocess.run(check, env=variables, check=False).returncode == 0
        assert subprocess.run([*check, f"{address}/api/health"], check=False).returncode == 0
        assert subprocess.run([*check, f"{address}/no"], capture_output=True, check=False).returncode == 1
        server.shutdown()
    assert subprocess.run([*check, f"{address}/api/health"], capture_output=True, check=False).returncode == 1


LOCKS = ("requirements.lock", "requirements-dev.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_locked_by_hash_and_no_index_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 200
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.findall(r"\w+://|--index|--find-links", text)


def locked(lock: str) -> set[str]:
    return set(re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / lock).read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_is_complete(name: str) -> None:
    """pip installs it without looking for what packages require."""
    known, todo = locked(name), [(package, "") for package in locked(name)]
    seen = set(todo)
    while todo:
        package, extra = todo.pop()
        try:
            required = map(Requirement, requires(package) or ())
        except PackageNotFoundError:  # for another system or Python
            continue
        for one in required:
            if one.marker is not None and not one.marker.evaluate({"extra": extra}):
                continue
            assert canonicalize_name(one.name) in known, f"{package} requires {one}"
            more = {(canonicalize_name(one.name), wanted) for wanted in one.extras} - seen
            seen |= more
            todo += more


def test_the_image_has_no_tools_of_development() -> None:
    run, dev = map(locked, LOCKS)
    assert run < dev
    assert not run & {"pytest", "moto", "mypy", "ruff", "playwright", "hypothesis", "uv"}


def test_both_ways_of_installing_require_hashes() -> None:
    for file in ("Makefile", "docker/python-packages.sh"):
        installs = [line for line in (ROOT / file).read_text().splitlines() if "install" in line and "-r " in line]
        assert installs, file
        assert all("--require-hashes" in line for line in installs), file
        whole = [line for line in installs if "uv" not in line]
        assert all("--no-deps" in line for line in whole), file


def test_the_bill_of_materials_lists_every_package(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / ".ci/supply_chain.py"), "bom", str(ROOT / "requirements.lock")]
    for name in ("one.json", "two.json"):
        subprocess.run([*script, str(tmp_path / name)], check=True, capture_output=True)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    bill = json.loads((tmp_path / "one.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert {part["name"] for part in bill["components"]} == locked("requirements.lock")
    assert all(part["hashes"] for part in bill["components"])


@pytest.mark.parametrize("name", [".env", ".env.local", "key.pem", ".dvc/config.local"])
def test_secrets_reach_neither_git_nor_the_image(name: str, tmp_path: Path) -> None:
    ignored = subprocess.run(["git", "check-ignore", "--no-index", "--quiet", name], cwd=ROOT, check=False)
    assert ignored.returncode == 0, f"git takes {name}"
    patterns = [line.strip() for line in (ROOT / ".dockerignore").read_text().splitlines()]
    assert any(fnmatch.fnmatch(name, pattern.removeprefix("**/")) for pattern in patterns if pattern), name


def test_the_image_gets_no_history_and_no_tests() -> None:
    assert {".git", "tests", ".venv", ".mediarank", "data"} <= set((ROOT / ".dockerignore").read_text().split())


def test_compose_has_no_default_password_no_moving_image_and_least_privilege() -> None:
    text = (ROOT / "compose.yaml").read_text()
    assert ":-" not in text, "no variable has a default"
    for name, service in COMPOSE["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        image = service["image"]
        assert image == "mediarank-serve" or re.fullmatch(r"\$\{\w+_IMAGE:\?.*\}", image), name
        assert "PASSWORD" not in str(service.get("command", "")), "every user of the machine can list processes"
    assert "-s3.config=" in COMPOSE["services"]["storage"]["command"], "or the storage asks for no password"
    assert "STORAGE_PASSWORD" in COMPOSE["configs"]["identities"]["content"]
    assert "PREFECT_SERVER_API_AUTH_STRING" in COMPOSE["services"]["prefect"]["environment"]
    mounted = [v.split(":")[1] for v in COMPOSE["services"]["runner"]["volumes"]]
    assert "/home/mediarank/project" not in mounted, "a volume there would hide the code of a new image"


def test_secrets_are_made_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "docker").write_text('#!/bin/sh\n[ "$1" = pull ] || echo "image@sha256:$(printf %064d 7)"\n')
    (fake / "docker").chmod(0o755)
    script, file = str(ROOT / "docker/secrets.sh"), tmp_path / ".env"
    for _ in range(2):
        done = clean(tmp_path, script, str(file), path=f"{fake}:/usr/bin:/bin")
        assert done.returncode == 0, done.stderr
        made = dict(line.split("=", 1) for line in file.read_text().splitlines())
    assert file.stat().st_mode & 0o777 == 0o600
    wanted = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    assert set(made) == wanted, "all that compose.yaml requires, and nothing else"
    assert len({made[name] for name in wanted if name.endswith("PASSWORD")}) == 3
    assert all(len(made[name]) == 48 for name in wanted if name.endswith("PASSWORD"))
    assert all("@sha256:" in made[name] for name in wanted if name.endswith("IMAGE"))


def test_an_image_that_can_float_is_refused(tmp_path: Path) -> None:
    fake, file = tmp_path / "bin", tmp_path / ".env"
    fake.mkdir()
    (fake / "docker").write_text("#!/bin/sh\nexit 1\n")
    (fake / "docker").chmod(0o755)
    command = (str(ROOT / "docker/secrets.sh"), str(file))
    done = clean(tmp_path, *command, path=f"{fake}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "DATABASE_IMAGE=name@sha256:" in done.stderr, "says what to write where no registry can be reached"
    for image, fine in (("postgres:17", False), (f"postgres@sha256:{7:064x}", True)):
        file.write_text("".join(f"{name}_IMAGE={image}\n" for name in ("DATABASE", "STORAGE", "PYTHON")))
        done = clean(tmp_path, *command, path=f"{fake}:/usr/bin:/bin")
        assert (done.returncode == 0) == fine, done.stderr
    assert re.search(r"^ARG PYTHON_IMAGE$", DOCKERFILE, flags=re.MULTILINE), "no default that floats"
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used) for used in re.findall(r"uses: (\S+)", workflow))


def test_a_new_image_brings_its_code_and_leaves_the_workspace(tmp_path: Path) -> None:
    code, work, fake = tmp_path / "code", tmp_path / "work", tmp_path / "bin"
    for name in ("src", "flows", "docker", "bin", "baseline"):
        (code / name).mkdir(parents=True)
        (code / name / "file").write_text("old")
    for name in ("pyproject.toml", "prefect.yaml", "README.md", "params.yaml", "dvc.yaml"):
        (code / name).write_text("old")
    fake.mkdir()
    (fake / "mediarank").write_text("#!/bin/sh\n")
    (fake / "mediarank").chmod(0o755)

    def start() -> None:
        script = str(ROOT / "docker/workspace.sh")
        done = clean(tmp_path, script, str(code), str(work), "touch", "ran", path=f"{fake}:/usr/bin:/bin")
        assert done.returncode == 0, done.stderr

    start()
    assert (work / "ran").exists()
    (work / "params.yaml").write_text("mine")
    (work / "dvc.lock").write_text("mine")
    (work / "src/file").write_text("changed")
    for path in (code / "src/file", code / "params.yaml"):
        path.write_text("new")
    (code / "src/more").write_text("new")
    (code / "flows/file").unlink()
    start()
    assert (work / "src/file").read_text() == (work / "src/more").read_text() == "new"
    assert not (work / "flows/file").exists()
    assert (work / "params.yaml").read_text() == (work / "dvc.lock").read_text() == "mine"


def test_compose_publishes_on_loopback_only_and_waits_for_health() -> None:
    services = COMPOSE["services"]
    published = [port for service in services.values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
    for service in services.values():
        wanted = service.get("depends_on", {})
        for name in wanted:
            condition = wanted[name]["condition"] if isinstance(wanted, dict) else ""
            assert "healthcheck" in services[name] or condition != "service_healthy"
    mounted = [v.split(":")[0] for s in services.values() for v in s.get("volumes", ())]
    assert all(name in COMPOSE["volumes"] or (ROOT / name).exists() for name in mounted)
    for service in services.values():
        for word in str(service.get("command", "")).split():
            assert not word.startswith("docker/") or (ROOT / word).exists()


SERVICE_KEYS = {"image", "build", "user", "command", "environment", "configs", "ports", "volumes", "healthcheck"}
SERVICE_KEYS |= {"depends_on", "cap_drop", "security_opt", "restart"}
CONDITIONS = ("service_healthy", "service_completed_successfully")


def test_compose_names_only_what_exists() -> None:
    """What `docker compose config` would refuse: unknown keys, services, configs, conditions and build targets."""
    assert set(COMPOSE) <= {"services", "configs", "volumes", "x-image", "x-least", "x-storage"}
    services = COMPOSE["services"]
    for name, service in services.items():
        assert set(service) <= SERVICE_KEYS, name
        assert {c["source"] for c in service.get("configs", ())} <= set(COMPOSE["configs"]), name
        for other, how in service.get("depends_on", {}).items():
            assert other in services, name
            assert how["condition"] in CONDITIONS, name
            ends = services[other]["restart"] == "no"
            assert ends == (how["condition"] == "service_completed_successfully"), "what ends is not waited for in vain"
        if "build" in service:
            assert f"AS {service['build']['target']}\n" in DOCKERFILE
            assert set(service["build"]["args"]) == set(re.findall(r"^ARG (\w+)", DOCKERFILE, flags=re.MULTILINE))
        check = service.get("healthcheck", {})
        assert set(check) <= {"test", "interval", "start_period", "disable"}, name
        assert check.get("disable") or "test" not in check or check["test"][0] == "CMD", "no shell in a health check"


def test_health_checks_ask_where_the_service_listens() -> None:
    for name in ("prefect", "mlflow"):
        service = COMPOSE["services"][name]
        port = service["ports"][0].rsplit(":", 1)[1]
        assert f"--port {port}" in service["command"]
        assert f"127.0.0.1:{port}/" in service["healthcheck"]["test"][-1]
