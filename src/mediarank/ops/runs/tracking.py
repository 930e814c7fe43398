"""One MLflow run per dvc.lock, written once and found again afterwards.

`track` gathers the results of the lock (`lockfile.py`, `tracked_values.py`), looks for the run with the lock's key, and
writes it, with one nested run per system, only if there is none. An unfinished run is replaced. Only one process at a
time writes; MLflow's database is completed before other processes see it. Importing MLflow costs seconds, so it is
imported only if there is something to write.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import logging
import os
import secrets
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mediarank import disk
from mediarank.ops.runs.tracked_values import LOCK_TAG, SYSTEM_TAG, Record, gather
from mediarank.ops.services.access import redacted
from mediarank.ops.services.environment import state_folder
from mediarank.ops.versions.lockfile import Lock, read_lock
from mediarank.types import DataError, MediarankError

EXPERIMENT: Final = "mediarank"
DATABASE: Final = "mlflow.db"
ARTIFACTS: Final = "mlartifacts"
PARENT_TAG: Final = "mlflow.parentRunId"
SQLITE: Final = "sqlite:///"
EXPERIMENT_TAGS: Final = {
    "mlflow.experimentKind": "custom_model_development",  # or the UI opens on pages about language models
    "mlflow.note.content": "One run per version of the data, with one nested run per system; `mediarank track` writes "
    "them. `mediarank compare-runs A B` says whether a difference is more than noise.",
}

# MLflow's limits of one log_batch.
_MOST_METRICS, _MOST_PARAMS, _LONGEST_PARAM = 1000, 100, 6000


@dataclass(frozen=True)
class TrackedRun:
    """The run of a lock; `created` if this call wrote it. `systems` are the ids of its nested runs."""

    run_id: str
    lock_key: str
    uri: str
    created: bool
    systems: Mapping[str, str]

    def summary(self) -> str:
        verb = "Recorded" if self.created else "Already recorded"
        return f"{verb} in MLflow ({redacted(self.uri)}): run {self.run_id}, systems {', '.join(sorted(self.systems))}."


def track(root: Path, uri: str | None = None) -> TrackedRun:
    """Log the results of `root`'s dvc.lock, unless they are already logged.

    uri : of MLflow's tracking store; by default `MLFLOW_TRACKING_URI`, or else `mlflow.db` in the project
    """
    root = root.resolve()
    lock = read_lock(root)
    lock.require_one_run()
    record = gather(lock)
    store = tracking_uri(root, uri)
    with _alone(root):
        found = _find_quickly(store, root, lock.key)
        if found is not None:
            return found
        with _without_collecting(), _explained(store):
            return _track(lock, record, store)


def tracking_uri(root: Path, uri: str | None = None) -> str:
    """The absolute address of the tracking store; a relative SQLite file is below `root`, wherever we are."""
    chosen = uri or os.environ.get("MLFLOW_TRACKING_URI") or SQLITE + DATABASE
    path = chosen.removeprefix(SQLITE)
    return chosen if path == chosen or path.startswith("/") else f"{SQLITE}{root.resolve() / path}"


def prepare_database(root: Path, uri: str | None = None) -> str:
    """Make the tracking database if there is none, and return its address.

    Several processes that open a new SQLite file at the same time corrupt it: call this before starting any.
    """
    store = tracking_uri(root.resolve(), uri)
    with _alone(root):
        if _lacks_database(store):
            with _without_collecting(), _explained(store):
                _make_database(store)
    return store


def _track(lock: Lock, record: Record, store: str) -> TrackedRun:
    client = _client(store)
    experiment = _experiment(client, store, lock.root)
    for run in client.search_runs([experiment], f"tags.`{LOCK_TAG}` = '{lock.key}'"):
        nested = client.search_runs([experiment], f"tags.`{PARENT_TAG}` = '{run.info.run_id}'")
        if run.info.status == "FINISHED":
            systems = {child.data.tags[SYSTEM_TAG]: child.info.run_id for child in nested}
            return TrackedRun(run.info.run_id, lock.key, store, False, systems)
        # Only this process writes, so the process that began this run was interrupted.
        for half_made in (*nested, run):
            client.delete_run(half_made.info.run_id)
            if store.startswith(SQLITE):  # a deleted run keeps its files, which nobody looks for any more
                disk.remove(lock.root / ARTIFACTS / half_made.info.run_id)
    run_id = _start(client, experiment, record)
    systems = {}
    try:
        for name, system in record.systems.items():
            systems[name] = _start(client, experiment, system, {PARENT_TAG: run_id})
            _fill(client, systems[name], system, lock)
            client.set_terminated(systems[name], "FINISHED")
        _fill(client, run_id, record, lock)
    except BaseException:
        client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id, "FINISHED")
    return TrackedRun(run_id, lock.key, store, True, systems)


def _start(client: Any, experiment: str, record: Record, more_tags: Mapping[str, str] | None = None) -> str:
    tags = {**record.tags, **(more_tags or {}), "mlflow.source.name": "mediarank track", "mlflow.source.type": "JOB"}
    if record.note:
        tags["mlflow.note.content"] = record.note
    return str(client.create_run(experiment, tags=tags, run_name=record.name).info.run_id)


def _fill(client: Any, run_id: str, record: Record, lock: Lock) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

    now = client.get_run(run_id).info.start_time
    metrics = [Metric(name, value, now, 0) for name, value in record.metrics.items()]
    params = [Param(name, _shortened(value)) for name, value in record.params.items()]
    for some in _pieces(metrics, _MOST_METRICS):
        client.log_batch(run_id, metrics=some)
    for some in _pieces(params, _MOST_PARAMS):
        client.log_batch(run_id, params=some)
    raw, labels = (lock.outs(path) for path in ("data/raw", "data/manifest/labels"))
    profile = json.dumps({**record.items, "num_rows": sum(record.items.values())}) if record.items else None
    sets = {"collection": Dataset("data/raw", lock.data_version[:32], "dvc", json.dumps({"dvc": raw}), None, profile)}
    if labels:
        digest = next(iter(labels.values())).removesuffix(".dir")[:32]
        sets["labels"] = Dataset("data/manifest/labels", digest, "dvc", json.dumps({"dvc": labels}))
    client.log_inputs(run_id, [DatasetInput(d, [InputTag("mlflow.data.context", use)]) for use, d in sets.items()])
    for path, folder in record.files:
        client.log_artifact(run_id, str(path), folder or None)


def _experiment(client: Any, store: str, root: Path) -> str:
    """The id of our experiment, created or restored if necessary."""
    location = _artifact_location(store, root)
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        return str(client.create_experiment(EXPERIMENT, artifact_location=location, tags=EXPERIMENT_TAGS))
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    if location and found.artifact_location != location:
        _follow(store, found.artifact_location, location)
    return str(found.experiment_id)


def experiment_id(store: str) -> str:
    """The id of our experiment, read from the SQLite file without MLflow; empty if there is none yet."""
    database = Path(store.removeprefix(SQLITE))
    if not store.startswith(SQLITE) or not database.is_file():
        return ""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT experiment_id FROM experiments WHERE name = ?", (EXPERIMENT,)).fetchone()
    except sqlite3.Error:
        return ""
    return str(found[0]) if found else ""


def _artifact_location(store: str, root: Path) -> str | None:
    """In the project, if the database is a file; a server knows its own location."""
    return (root / ARTIFACTS).as_uri() if store.startswith(SQLITE) else None


def connect(store: str) -> Any:
    """MLflow's client of an existing tracking store; its errors become errors of mediarank."""
    if _lacks_database(store):
        raise DataError(f"Nothing was recorded in {redacted(store)} yet; run mediarank run, which records its results.")
    with _without_collecting(), _explained(store):
        return _client(store)


def _client(store: str) -> Any:
    from mlflow import MlflowClient

    if _lacks_database(store):
        _make_database(store)
    return MlflowClient(tracking_uri=store, registry_uri=store)


def _lacks_database(store: str) -> bool:
    return store.startswith(SQLITE) and not Path(store.removeprefix(SQLITE)).exists()


def _make_database(store: str) -> None:
    """Build a new SQLite database in memory, write it under another name and move it into place.

    MLflow's migrations take a third of the time in memory, and an interruption leaves nothing behind.
    """
    from mlflow import MlflowClient

    target = Path(store.removeprefix(SQLITE))
    target.parent.mkdir(parents=True, exist_ok=True)
    # We hold the lock, so a file of this name was left by an interruption.
    draft = target.with_name(f"{target.name}.draft")
    draft.unlink(missing_ok=True)
    # The name is valid in this process only; the database exists as long as one connection to it does.
    memory = f"file:{secrets.token_hex(8)}?mode=memory&cache=shared"
    with closing(sqlite3.connect(memory, uri=True)) as connection:
        MlflowClient(tracking_uri=f"{SQLITE}{memory}&uri=true").search_experiments(max_results=1)
        connection.execute("VACUUM INTO ?", (str(draft),))
    draft.replace(target)


def _find_quickly(store: str, root: Path, key: str) -> TrackedRun | None:
    """The finished run of a lock, read from the SQLite file without MLflow: milliseconds instead of seconds.

    Anything unexpected is left to MLflow.
    """
    database = Path(store.removeprefix(SQLITE))
    if not store.startswith(SQLITE) or not database.is_file():
        return None
    tagged = (
        "SELECT runs.run_uuid FROM runs JOIN tags ON tags.run_uuid = runs.run_uuid "
        "JOIN experiments ON experiments.experiment_id = runs.experiment_id "
        "WHERE experiments.lifecycle_stage = 'active' AND experiments.artifact_location = ? "
        "AND runs.lifecycle_stage = 'active' AND runs.status = 'FINISHED' AND tags.key = ? AND tags.value = ?"
    )
    location = _artifact_location(store, root)
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            for (run_id,) in connection.execute(tagged, (location, LOCK_TAG, key)):
                systems = connection.execute(
                    f"SELECT value, run_uuid FROM tags WHERE key = ? AND run_uuid IN ({tagged})",  # noqa: S608 - constants
                    (SYSTEM_TAG, location, PARENT_TAG, run_id),
                )
                return TrackedRun(run_id, key, store, False, dict(systems.fetchall()))
    except sqlite3.Error:
        return None
    return None


def _follow(store: str, old: str, new: str) -> None:
    """Correct artifact addresses after the project's folder has moved: MLflow stores them as absolute paths."""
    with closing(sqlite3.connect(store.removeprefix(SQLITE))) as connection, connection:
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            connection.execute(
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) "  # noqa: S608 - constants
                f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                (new, len(old) + 1, old, len(old) + 1, old + "/"),
            )


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Wait until no other process of this project tracks; the system releases the lock of a process that dies."""
    with (state_folder(root) / "track.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _explained(store: str) -> Iterator[None]:
    """Turn an error of MLflow into one of mediarank, with a remedy."""
    import_mlflow(store)
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        outdated = "out-of-date database schema" in str(error)
        remedy = f"run: mlflow db upgrade {store}" if outdated else "check its address, or that its server runs."
        raise MediarankError(
            redacted(f"MLflow's store {store} can't be used: {error}\nWhat to do: {remedy}")
        ) from error


def import_mlflow(store: str) -> None:
    """Import MLflow's parts for a store, with telemetry off and without messages about runs and tables."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    if "mlflow" not in sys.modules:
        # At exit Python would traverse all of MLflow's objects once more, which takes a second.
        atexit.register(gc.freeze)
    import mlflow

    if not store.startswith("http"):
        import mlflow.store.tracking.sqlalchemy_store  # noqa: F401 - or the first call would import it


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Switch the garbage collector off: importing MLflow and making its tables leaves nothing to collect, and
    looking for it takes a fifth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _pieces(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (values[start : start + most] for start in range(0, len(values), most))


def _shortened(value: str) -> str:
    end = " … (the rest is in params.yaml)"
    return value if len(value) <= _LONGEST_PARAM else value[: _LONGEST_PARAM - len(end)] + end
