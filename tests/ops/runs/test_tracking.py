"""One MLflow run per lock in all cases: real MLflow, real SQLite, real processes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mediarank.ops.runs import tracking
from mediarank.ops.runs.tracked_values import flatten, git_state, read_metrics
from mediarank.ops.runs.tracking import prepare_database, track, tracking_uri
from mediarank.types import DataError, MediarankError

PARAMS = {
    "collection": {"source": "demo", "seed": 7},
    "systems": {
        "retrieval": {"features": ["lab", "hog"], "k": 5},
        "concepts": {"rounds": 100},
    },
    "evaluation": {"depth": 50},
}
METRICS = {
    "retrieval": {"uniform": {"map": 0.25, "ndcg": 0.5}, "best single (hog)": {"map": 0.125, "ndcg": None}},
    "concepts": {"bags": {"map": 0.75}},
}


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def project(root: Path, metrics: dict[str, Any] | None = None, **params: Any) -> Path:
    """A workspace after dvc repro, as far as tracking looks at it."""
    settings = {**PARAMS, **params}
    files = {
        "data/raw/labels/classes.csv": "item,class\n",
        "data/frames/quarantine.csv": "what,item_id,source,reason\n",
        "data/check_manifest/result.json": "{}\n",
        "data/report/report.html": "<html></html>\n",
    }
    for system, measured in (metrics or METRICS).items():
        files[f"data/evaluation/{system}/metrics.json"] = json.dumps(measured)
        files[f"data/evaluation/{system}/curves.csv"] = "recall,precision\n"
        files[f"data/evaluation/{system}/curve.png"] = "not really a picture"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    (root / "data/evaluation/former").mkdir(exist_ok=True)
    (root / "data/evaluation/former/metrics.json").write_text('{"old": {"map": 1.0}}')  # of a system that is gone

    def stage(*prefixes: str, **used: Any) -> dict[str, Any]:
        outs = [{"path": n, "md5": md5(c.encode())} for n, c in files.items() if n.startswith(prefixes)]
        return {"cmd": "run", "params": {"params.yaml": used}, "outs": outs}

    stages = {
        "all": stage("data/raw", "data/frames", "data/check", "data/report", collection=settings["collection"]),
        **{
            f"evaluation@{system}": stage(
                f"data/evaluation/{system}/",
                **{f"systems.{system}": section, "evaluation": settings["evaluation"]},
            )
            for system, section in settings["systems"].items()
        },
    }
    plan = {"all": {"cmd": "run"}, "evaluation": {"foreach": "${systems}", "do": {"cmd": "run"}}}
    (root / "params.yaml").write_text(yaml.safe_dump(settings))
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": plan}))
    (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
    return root


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Making the tables takes seconds: once is enough."""
    root = tmp_path_factory.mktemp("database")
    prepare_database(root)
    return root / "mlflow.db"


@pytest.fixture
def root(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = tmp_path / "my project ä"
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return project(folder)


def client(root: Path) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=f"sqlite:///{root}/mlflow.db")


def runs(root: Path, which: str = "") -> list[Any]:
    mlflow = client(root)
    return list(mlflow.search_runs([e.experiment_id for e in mlflow.search_experiments()], which))


def artifacts(root: Path, run_id: str, folder: str | None = None) -> set[str]:
    found: set[str] = set()
    for entry in client(root).list_artifacts(run_id, folder):
        found |= artifacts(root, run_id, entry.path) if entry.is_dir else {entry.path}
    return found


def test_everything_of_a_run_is_there(root: Path) -> None:
    tracked = track(root)
    assert tracked.created
    assert sorted(tracked.systems) == ["concepts", "retrieval"]
    run = client(root).get_run(tracked.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "collection.source": "demo",
        "collection.seed": "7",
        "systems.retrieval.features": '["lab", "hog"]',
        "systems.retrieval.k": "5",
        "systems.concepts.rounds": "100",
        "evaluation.depth": "50",
    }
    assert run.data.metrics == {
        "retrieval/uniform/map": 0.25,
        "retrieval/uniform/ndcg": 0.5,
        "retrieval/best single _hog_/map": 0.125,
        "concepts/bags/map": 0.75,
    }
    assert run.data.tags["mediarank.lock"] == tracked.lock_key
    assert run.data.tags["mediarank.version"]
    assert run.data.tags["mediarank.git_commit"] == "none"  # not a repository
    (collection,) = run.inputs.dataset_inputs
    assert run.data.tags["mediarank.data_version"].startswith(collection.dataset.digest)
    assert artifacts(root, tracked.run_id) == {
        "dvc.lock",
        "dvc.yaml",
        "params.yaml",
        "report.html",
        "quarantine.csv",
        "checks/check_manifest/result.json",
        "figures/retrieval/curve.png",
        "figures/concepts/curve.png",
    }


def test_each_system_has_a_nested_run(root: Path) -> None:
    tracked = track(root)
    nested = runs(root, f"tags.`mlflow.parentRunId` = '{tracked.run_id}'")
    assert {run.data.tags["mediarank.system"]: run.info.run_id for run in nested} == tracked.systems
    retrieval = client(root).get_run(tracked.systems["retrieval"])
    assert retrieval.data.params == {"features": '["lab", "hog"]', "k": "5", "evaluation.depth": "50"}
    assert retrieval.data.metrics["uniform/map"] == 0.25
    assert retrieval.info.status == "FINISHED"
    assert artifacts(root, retrieval.info.run_id) == {"metrics.json", "curves.csv", "curve.png"}


def test_a_lock_is_tracked_once_and_found_without_mlflow(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = track(root)
    found = track(root)
    monkeypatch.setattr(tracking, "_find_quickly", lambda *_: None)
    found_by_mlflow = track(root)
    assert not found.created
    assert found == found_by_mlflow
    assert first.summary().startswith("Recorded in MLflow (sqlite:////")
    assert found.summary().endswith(f"run {first.run_id}, systems concepts, retrieval.")
    assert found.summary().startswith("Already recorded")
    assert (found.run_id, found.systems) == (first.run_id, first.systems)
    assert len(runs(root)) == 3


def test_the_quick_way_does_not_import_mlflow(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = track(root)
    monkeypatch.setitem(sys.modules, "mlflow", None)  # importing it raises from here on
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", None)
    assert track(root).run_id == first.run_id


def test_other_numbers_are_another_run(root: Path) -> None:
    first = track(root)
    project(root, metrics={**METRICS, "concepts": {"bags": {"map": 0.8}}})
    second = track(root)
    assert second.created
    assert second.run_id != first.run_id
    assert client(root).get_run(second.run_id).data.metrics["concepts/bags/map"] == 0.8
    assert client(root).get_run(first.run_id).data.metrics["concepts/bags/map"] == 0.75
    project(root)
    assert track(root).run_id == first.run_id  # a rollback finds its old run


@pytest.mark.parametrize("status", ["RUNNING", "FAILED", "KILLED"])
def test_an_interrupted_run_is_replaced(root: Path, status: str) -> None:
    finished = track(root)
    mlflow = client(root)
    # As if the process had been killed on the way: nothing was marked as finished.
    with sqlite3.connect(root / "mlflow.db") as connection:
        connection.execute("UPDATE runs SET status = ?", (status,))
    again = track(root)
    assert again.created
    assert {run.info.run_id for run in runs(root)} == {again.run_id, *again.systems.values()}
    assert {run.info.status for run in runs(root)} == {"FINISHED"}
    assert mlflow.get_run(finished.run_id).info.lifecycle_stage == "deleted"
    assert {path.name for path in (root / "mlartifacts").iterdir()} == {again.run_id, *again.systems.values()}


def test_a_failure_on_the_way_is_marked_and_the_next_attempt_succeeds(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = tracking._fill

    def fails_on_the_parent(mlflow: Any, run_id: str, record: Any, lock: Any) -> None:
        if record.systems:
            raise OSError("no space left on device")
        fill(mlflow, run_id, record, lock)

    with monkeypatch.context() as patched:
        patched.setattr(tracking, "_fill", fails_on_the_parent)
        with pytest.raises(OSError, match="no space left"):
            track(root)
    assert [run.info.status for run in runs(root) if not run.data.tags.get("mediarank.system")] == ["FAILED"]
    assert track(root).created
    assert len(runs(root)) == 3


def test_a_run_that_someone_deleted_is_written_again(root: Path) -> None:
    first = track(root)
    client(root).delete_run(first.run_id)
    assert track(root).run_id != first.run_id


def test_a_deleted_experiment_is_restored(root: Path) -> None:
    first = track(root)
    client(root).delete_experiment(client(root).get_experiment_by_name("mediarank").experiment_id)
    assert track(root).run_id == first.run_id
    assert client(root).get_experiment_by_name("mediarank").lifecycle_stage == "active"


def test_a_project_that_moved_keeps_its_artifacts(root: Path) -> None:
    first = track(root)
    moved = root.with_name("elsewhere")
    root.rename(moved)
    assert track(moved).run_id == first.run_id
    assert "report.html" in artifacts(moved, first.run_id)
    project(moved, evaluation={"depth": 10})
    second = track(moved)
    assert second.created
    assert not root.exists()
    assert "report.html" in artifacts(moved, second.run_id)


SCRIPT = """
import json, socket, sys
from pathlib import Path

class Refused(socket.socket):
    def connect(self, address):
        raise AssertionError(f"tracking must not use the network, but connects to {address}")

socket.socket = Refused
from mediarank.ops.runs.tracking import track
tracked = track(Path(sys.argv[1]))
print(json.dumps([tracked.run_id, tracked.created]))
"""


def test_two_processes_at_once_make_one_run_and_no_file_elsewhere(tmp_path: Path) -> None:
    """From nothing: the database too is made once, and only below the project."""
    root, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    root.mkdir()
    (root / "mlflow.db.draft").write_text("half a database, from a process that was killed")
    project(root)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW")}
    environment |= {"HOME": str(home), "TMPDIR": str(home)}
    command = [sys.executable, "-c", SCRIPT, str(root)]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(command, cwd=home, env=environment, stdout=pipe, stderr=pipe, text=True) for _ in range(2)
    ]
    said = [child.communicate(timeout=200) for child in children]
    assert [(child.returncode, err) for child, (_, err) in zip(children, said, strict=True)] == [(0, ""), (0, "")]
    (one, one_created), (other, other_created) = (json.loads(out) for out, _ in said)
    assert one == other
    assert one_created != other_created
    assert list(home.rglob("*")) == []
    assert {path.name for path in root.iterdir()} == {
        "data", "dvc.lock", "dvc.yaml", "params.yaml", "mlflow.db", "mlartifacts", ".mediarank",
    }  # fmt: skip
    assert len(runs(root)) == 3


def test_what_is_not_in_the_lock_is_refused(root: Path) -> None:
    (root / "data/evaluation/concepts/metrics.json").write_text('{"bags": {"map": 0.99}}')
    with pytest.raises(DataError, match=r"metrics\.json is not what dvc\.lock says; run dvc repro first"):
        track(root)


def test_changed_params_are_refused(root: Path) -> None:
    (root / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "evaluation": {"depth": 5}}))
    with pytest.raises(DataError, match=r"evaluation was .*; run dvc repro first"):
        track(root)


def test_before_the_first_run_the_remedy_is_reported(tmp_path: Path, root: Path) -> None:
    with pytest.raises(DataError, match=r"There is no dvc\.lock in .*; run dvc repro first"):
        track(tmp_path)
    project(root, systems={})
    with pytest.raises(DataError, match="No system has been evaluated"):
        track(root)


def test_a_database_of_another_mlflow_is_reported(root: Path) -> None:
    with sqlite3.connect(root / "mlflow.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'bd07f7e963c5'")
    with pytest.raises(MediarankError, match="run: mlflow db upgrade sqlite:"):
        track(root)


def test_long_lists_of_metrics_and_params_fit(root: Path) -> None:
    """MLflow takes 1000 metrics and 100 params at a time, and no param beyond 6000 characters."""
    metrics = {f"method {k}": {"map": k / 2000} for k in range(1500)}
    sections = {f"f{k:03d}": k for k in range(150)} | {"long": ["x" * 50] * 200}
    project(root, metrics={**METRICS, "concepts": metrics}, features=sections)
    run = client(root).get_run(track(root).run_id)
    assert run.data.metrics["concepts/method 1499/map"] == pytest.approx(1499 / 2000)
    assert run.data.params["features.f149"] == "149"
    assert run.data.params["features.long"].endswith("… (the rest is in params.yaml)")


@pytest.mark.parametrize(
    ("given", "environment", "expected"),
    [
        (None, "", "sqlite:////p/mlflow.db"),
        (None, "http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("sqlite:///other.db", "http://127.0.0.1:5000", "sqlite:////p/other.db"),
        ("sqlite:////abs/x.db", "", "sqlite:////abs/x.db"),
        ("postgresql://host/db", "", "postgresql://host/db"),
    ],
)
def test_tracking_uri(given: str | None, environment: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", environment)
    assert tracking_uri(Path("/p"), given) == expected


def test_flatten() -> None:
    nested = {"a": {"b": 1, "c": {"d": [1, "x"]}}, "e": "text", "none": None, "empty": {}, "odd+key": True}
    assert flatten(nested) == {
        "a.b": "1",
        "a.c.d": '[1, "x"]',
        "e": "text",
        "none": "null",
        "empty": "{}",
        "odd_key": "true",
    }


def test_metrics_that_would_share_a_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"a(b": {"map": 1}, "a)b": {"map": 2}}')
    with pytest.raises(DataError, match="both called a_b/map"):
        read_metrics(tmp_path / "metrics.json")


def test_git_state(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "code.py").write_text("1")
    (tmp_path / "dvc.lock").write_text("1")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "dvc.lock").write_text("2")
    (tmp_path / "untracked").write_text("2")
    clean = git_state(tmp_path)
    assert clean["mediarank.git_dirty"] == "false"
    assert len(clean["mediarank.git_commit"]) == 40
    (tmp_path / "code.py").write_text("2")
    assert git_state(tmp_path)["mediarank.git_dirty"] == "true"
