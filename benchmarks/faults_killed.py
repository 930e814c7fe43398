"""What is killed: each stage on eighteen pictures, `track`, `promote`, `rollback`, `label add` and `feedback add`.

MLflow's ids and times differ from run to run, so what is compared there is what can be read: runs with their
parameters, metrics and artifacts, versions with their tags and aliases. Of a rollback the files are compared, of
`label add` and `feedback add` what holds.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from faults_kills import Work, in_child, kill_everywhere

TESTS = Path(__file__).resolve().parents[1] / "tests"
TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}(\.[a-z0-9]+)?")
ITEMS = 18
Content = dict[str, bytes]


def small_project() -> Any:
    """The module of the tests that makes a small fitted project."""
    for folder in (str(TESTS), str(TESTS / "ops")):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    return importlib.import_module("fitted_project")


def files(folder: Path) -> Content:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def temporary_names(home: Path) -> list[str]:
    """Names in the manner of unfinished writes, anywhere outside git and DVC, and drafts of databases."""
    found = []
    for path in home.rglob("*"):
        name = path.relative_to(home)
        if name.parts[0] not in (".git", ".dvc") and (TEMPORARY.fullmatch(path.name) or path.name.endswith(".draft")):
            found.append(name.as_posix())
    return found


def stages(folder: Path) -> dict[str, Work]:
    """The stages after `collect` on eighteen pictures; `faults_files` kills `collect`."""
    fitted_project = small_project()
    import great_expectations  # noqa: F401 - so that children need not

    from mediarank.base_models.svm import SVMConfig
    from mediarank.evaluation.measured import EvaluationConfig
    from mediarank.media.limits import Limits
    from mediarank.ops.checks import FeatureCheckConfig, ManifestCheckConfig
    from mediarank.stages import (
        base_models,
        check_features,
        check_manifest,
        evaluation,
        features,
        frames,
        manifest,
        report,
        splits,
        systems,
    )
    from mediarank.systems.model import Needs

    template = project(folder)
    retrieval, needs = fitted_project.CONFIG, Needs(tuple(fitted_project.FAMILIES))
    lab, copying = fitted_project.FAMILIES["lab"], fitted_project.COPYING
    svm, checking = SVMConfig(penalties=(2.0,), widths=(1.0,)), FeatureCheckConfig()
    runs: dict[str, Callable[[Path], object]] = {
        "manifest": lambda home: manifest.run(
            manifest.ManifestConfig(), home / "data", home / "labels/journal", home / ".mediarank/cache"
        ),
        "check_manifest": lambda home: check_manifest.run(ManifestCheckConfig(), home / "data", home / "baseline"),
        "frames": lambda home: frames.run(copying.frames, Limits(), home / "data", home / ".mediarank/cache"),
        "splits": lambda home: splits.run(splits.SplitsConfig(), home / "data"),
        "features": lambda home: features.run("lab", lab, home / "data", home / ".mediarank/cache"),
        "check_features": lambda home: check_features.run({"lab": lab}, checking, home / "data", home / "baseline"),
        "base_models": lambda home: base_models.run("lab", svm, home / "data"),
        "systems": lambda home: systems.run("retrieval", retrieval, needs, home / "data"),
        "evaluation": lambda home: evaluation.run("retrieval", EvaluationConfig(resamples=20), home / "data"),
        "report": lambda home: report.run(["retrieval"], report.ReportConfig(), home / "data", home / "baseline", {}),
    }

    def content(home: Path) -> Content:
        return files(home / "data")

    return {name: Work(template, run, content, temporary_names) for name, run in runs.items()}


def make(root: Path) -> None:
    """A fitted project that has what the stages before it write, too."""
    fitted_project = small_project()

    from mediarank import store
    from mediarank.stages import frames, manifest

    fitted_project.make(root, items=ITEMS)
    data = root / "data"
    store.write_labels(data / "raw/labels", store.read_labels(data / "manifest/labels"))
    manifest.run(manifest.ManifestConfig(), data, root / "labels/journal", root / ".mediarank/cache")
    copying = fitted_project.COPYING
    frames.run(copying.frames, copying.limits, data, root / ".mediarank/cache")
    fitted_project.add_systems(root)
    shutil.rmtree(root / ".mediarank")
    for stage in ("check_manifest", "check_features"):
        found = store.read_json(data / stage / "result.json")
        store.write_json(data / stage / "result.json", {**found, "expectations": []})
        store.write_json(root / "baseline" / f"{stage}.json", {})
    store.write_json(root / "baseline/report.json", {})
    fitted_project.lock(root)


def project(folder: Path) -> Path:
    """The fitted project."""
    return made(folder / "project", make)


def commands(folder: Path) -> dict[str, Work]:
    """Making MLflow's database, `track`, `promote`, `rollback`, `label add` and `feedback add`.

    `promote` finds a champion and a newer version that is recorded already.
    """
    import mlflow.pyfunc
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401 - so that children need not
    from mlflow import MlflowClient
    from sqlalchemy.engine import Connection

    from mediarank.ops.runs.tracking import prepare_database, track
    from mediarank.ops.versions import rollback

    fitted_project = small_project()
    fitted = project(folder)
    changes = ("create_experiment", "create_run", "log_batch", "log_inputs", "log_artifact", "log_artifacts")
    changes += ("log_dict", "set_terminated", "delete_run", "create_registered_model", "create_model_version")
    changes += ("set_registered_model_alias", "delete_registered_model_alias", "set_model_version_tag")
    client = [*((MlflowClient, name) for name in changes), (Connection, "_commit_impl")]

    def roll_back(home: Path) -> None:
        from versioned_project import dvc

        dvc(home / "project", "remote", "modify", "--quiet", "--local", "store", "url", str(home / "remote"))
        rollback.rollback(home / "project", "v1")

    def with_database(home: Path) -> None:
        shutil.copytree(fitted, home)
        prepare_database(home)

    def with_champion(home: Path) -> None:
        shutil.copytree(fitted, home)
        promote(home)
        with (home / "data/report/report.html").open("a") as report:
            report.write("<p>A newer version.</p>")
        fitted_project.lock(home)
        track(home)

    empty = made(folder / "with database", with_database)
    champion = made(folder / "with champion", with_champion)
    versioned = made(folder / "versioned", make_versions)
    return {
        "database": Work(fitted, prepare_database, tables, unknown_artifacts),
        "track": Work(empty, track, recorded, unknown_artifacts, client),
        "promote": Work(champion, promote, recorded, unknown_artifacts, client, unverified),
        "rollback": Work(versioned, roll_back, version_files, left_of_rollback, [(rollback, "git")]),
        "label add": Work(fitted, add_label, held_statements, temporary_names, [(os, "write")]),
        "feedback add": Work(fitted, add_feedback, held_feedback, temporary_names, [(os, "write")]),
    }


def made(home: Path, make_it: Callable[[Path], object]) -> Path:
    """A folder that is made once; one that is half-made is made again."""
    whole = home.with_name(f"{home.name}.made")
    if not whole.exists():
        shutil.rmtree(home, ignore_errors=True)
        in_child(lambda: make_it(home))
        whole.touch()
    return home


def promote(home: Path) -> None:
    from mlflow.tracking._tracking_service import utils

    from mediarank.ops.models import promotion
    from mediarank.ops.models.promotion_config import PromotionConfig

    utils._artifact_repos_cache.clear()  # by run: here, several folders have the same runs
    # The trial in a fresh process writes nothing, so it is left out.
    with mock.patch.object(promotion, "try_out", return_value={"queries": 0}):
        promotion.promote(home, small_project().COPYING, PromotionConfig())


def make_versions(folder: Path) -> None:
    import versioned_project

    versioned_project.make(folder / "project", folder / "remote")


def add_label(home: Path) -> None:
    from mediarank import store
    from mediarank.teaching.journal import Journal, statements_of_call
    from mediarank.teaching.labelling import Items, Vocabulary, label_rows

    manifest = store.read_manifest(home / "data/manifest/manifest.parquet")
    vocabulary = Vocabulary.of(store.read_labels(home / "data/manifest/labels"))
    rows = label_rows(Items(manifest), vocabulary, "bright", ["images/sea_002.png"], ["images/leaf_001.png"], new=True)
    Journal(home / "labels/journal").append(statements_of_call("drill", "cli", rows))


def held_statements(home: Path) -> Any:
    from mediarank.teaching.journal import Journal
    from mediarank.teaching.statements import latest

    held = latest(Journal(home / "labels/journal").read().statements)
    return sorted((s.kind, s.item, s.sha256, s.name, str(s.value)) for s in held)


def add_feedback(home: Path) -> None:
    """As the command does: learn what is known, record, learn that too, and keep a snapshot."""
    from mediarank.asking.workspace import Workspace
    from mediarank.teaching.feedback import Event
    from mediarank.teaching.taught_ranker import open_teacher

    space = Workspace(home / "data", lambda: small_project().COPYING)
    places = (home / "labels/feedback", home / ".mediarank/feedback")
    _, log, _ = open_teacher(space, *places)
    log.record(Event("images/sea_002.png", ("images/sea_005.png",), ("images/leaf_001.png",), scope="everybody"))
    open_teacher(space, *places)[0].prepare("images/sea_002.png")


def held_feedback(home: Path) -> Any:
    """What was said, once each: a kill after the record was kept makes the same words come twice."""
    from mediarank.teaching.feedback import FeedbackLog

    return {repr(event.row()) for event in FeedbackLog(home / "labels/feedback").read()[0]}


def database(home: Path) -> Any:
    return closing(sqlite3.connect(f"{(home / 'mlflow.db').as_uri()}?mode=ro", uri=True))


def tables(home: Path) -> Any:
    """Tables and columns of MLflow's database, and its schema's version."""
    columns = "SELECT t.name, c.name, c.type FROM sqlite_master t, pragma_table_info(t.name) c ORDER BY 1, 2"
    with database(home) as open_database:
        return [open_database.execute(q).fetchall() for q in (columns, "SELECT * FROM alembic_version")]


def unverified(home: Path) -> list[str]:
    """Champions whose files are not those that were registered: `serve` would refuse them."""
    from mediarank.ops.models.packing import digest

    champions = (
        "SELECT v.name, v.run_id, t.value FROM registered_model_aliases a "
        "JOIN model_versions v ON v.name = a.name AND v.version = a.version "
        "LEFT JOIN model_version_tags t ON t.name = v.name AND t.version = v.version AND t.key = 'mediarank.sha256' "
        "WHERE a.alias = 'champion'"
    )
    with database(home) as open_database:
        found = open_database.execute(champions).fetchall()
    packed = {run: home / "mlartifacts" / run / "artifacts/model/artifacts/packed" for _, run, _ in found}
    wrong = [name for name, run, wanted in found if not packed[run].is_dir() or digest(packed[run]) != wanted]
    return wrong if found else ["no champion"]


def recorded(home: Path) -> Any:
    """What MLflow's database and artifacts hold of runs and versions that are there, without ids and times."""
    with database(home) as open_database:

        def rows(query: str, *values: str) -> list[Any]:
            return sorted(open_database.execute(query, values).fetchall(), key=repr)

        found: list[Any] = []
        for run, name, status in rows("SELECT run_uuid, name, status FROM runs WHERE lifecycle_stage = 'active'"):
            tags = rows("SELECT key, value FROM tags WHERE run_uuid = ? AND key NOT LIKE 'mlflow.parentRunId'", run)
            tags = [pair for pair in tags if pair[0] not in ("mlflow.user", "mlflow.log-model.history")]
            metrics = rows("SELECT key, value FROM latest_metrics WHERE run_uuid = ?", run)
            params = rows("SELECT key, value FROM params WHERE run_uuid = ?", run)
            folder = home / "mlartifacts" / run / "artifacts"
            kept = {n: c for n, c in files(folder).items() if not n.endswith(("MLmodel", "promotion.json"))}
            found.append((name, status, tags, metrics, params, kept))
        aliases = rows("SELECT name, alias, version FROM registered_model_aliases")
        versions = rows("SELECT name, version, key, value FROM model_version_tags")
        numbers = rows("SELECT name, version FROM model_versions WHERE current_stage != 'Deleted_Internal'")
        return sorted(found, key=repr), aliases, versions, numbers


def unknown_artifacts(home: Path) -> list[str]:
    """Artifacts of runs that are not there, and unfinished writes."""
    with database(home) as open_database:
        known = {run for (run,) in open_database.execute("SELECT run_uuid FROM runs WHERE lifecycle_stage = 'active'")}
    folder = home / "mlartifacts"
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return [*sorted(there - known), *temporary_names(home)]


def version_files(home: Path) -> Content:
    """Of the workspace without git's and DVC's own."""
    own = (".git/", ".dvc/", ".mediarank/")
    return {name: content for name, content in files(home / "project").items() if not name.startswith(own)}


def left_of_rollback(home: Path) -> list[str]:
    note = home / "project/.mediarank/rollback.json"
    head = (home / "project/.git/HEAD.lock", home / "project/.git/index.lock")
    return [str(path.relative_to(home)) for path in (note, *head) if path.exists()] + temporary_names(home / "project")


STAGES = ("manifest", "check_manifest", "frames", "splits", "features", "check_features", "base_models", "systems")
STAGES += ("evaluation", "report")
COMMANDS = ("database", "track", "promote", "rollback", "label add", "feedback add")
KILLED = STAGES + COMMANDS
SAMPLED = {"track": 40, "promote": 80, "rollback": 40}
"""At how many of its steps, spread evenly, what takes long is killed by default; the others are killed at each."""


def kill_one(name: str, folder: Path, most: int | None, portion: int = 0) -> dict[str, Any]:
    """Kill one stage or command at a portion of its steps, or of `most` of them."""
    folder.mkdir(parents=True, exist_ok=True)
    with mock.patch.dict(os.environ, {"MEDIARANK_JOBS": "1"}):
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        works = commands(folder) if name in COMMANDS else stages(folder)
        home = folder / f"{name.replace(' ', '_')}_{portion}"  # a new name, because MLflow keeps databases open by name
        return kill_everywhere(name, works[name], home, most or SAMPLED.get(name), portion)
