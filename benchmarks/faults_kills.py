"""Kill stages and commands at each step, run them again: the same content, and nothing left over.

A step is a call that changes the disk (see `faults_crash`), and for `track`, `promote` and `rollback` also each call of
MLflow's client and of git. Everything runs in forked children of a process that only imports: the killed run, the run
after it, and the run that nobody kills, which says what is wanted. What guarded children would do is done in the killed
process itself, so that each of their writes is a step.

MLflow's ids and times differ from run to run, so what is compared there is what can be read: runs with their
parameters, metrics and artifacts, versions with their tags and aliases. Of a rollback the files are compared, of
`label add` the statements that hold.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from faults_crash import More, kill_at

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


@dataclass(frozen=True)
class Work:
    """What is killed: a run in a copy of a project, and how the outcome is read.

    content : what must be the same; leftovers : what must not be there
    """

    template: Path
    run: Callable[[Path], object]
    content: Callable[[Path], Any]
    leftovers: Callable[[Path], list[str]]
    more: More = ()


def kill_everywhere(name: str, work: Work, folder: Path, most: int | None = None) -> dict[str, int]:
    """Kill at each step, or at `most` steps spread evenly."""
    copied(work, folder / "wanted")
    steps = in_child(lambda: work.run(folder / "wanted"), more=work.more)
    wanted = work.content(folder / "wanted")
    spared = set(work.leftovers(folder / "wanted"))
    every = range(steps) if most is None or steps <= most else sorted({k * steps // most for k in range(most)})
    tried = other = left = 0
    home = folder / "home"
    for step in every:
        copied(work, home)
        if in_child(lambda: work.run(home), step, work.more) >= 0:
            continue  # it took fewer steps this time
        in_child(lambda: work.run(home))
        tried += 1
        if work.content(home) != wanted:
            other += 1
            print(f"  {name}: other content after a kill at step {step} of {steps}")
        if remaining := set(work.leftovers(home)) - spared:
            left += 1
            print(f"  {name}: left after a kill at step {step} of {steps}: {sorted(remaining)[:3]}")
    print(f"  {name}: {tried} of {steps} steps", flush=True)
    return {"kill_points": tried, "kill_other_bytes": other, "kill_leftovers": left}


def copied(work: Work, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(work.template, home, symlinks=True)


def in_child(work: Callable[[], object], step: int = -1, more: More = ()) -> int:
    """Run in a forked child: how many steps it took, or -1 if it was killed at `step`."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(receive)
            with quiet(), one_process(), kill_at(step, more) as count:
                work()
            os.write(send, str(count[0]).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(send)
    with os.fdopen(receive) as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return -1
    if status:
        raise RuntimeError("A run that was not killed failed; see above.")
    return int(said)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the messages and progress of a run; a traceback is still printed."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


@contextmanager
def one_process() -> Iterator[None]:
    """Do in this process what guarded children do."""
    from mediarank.media import guarded_child
    from mediarank.stages import frames, manifest

    def here(function: Callable[[Any], Any], items: Any, *_: Any, **__: Any) -> list[Any]:
        return [guarded_child.attempt(function, item) for item in items]

    with mock.patch.object(frames, "guarded_map", here), mock.patch.object(manifest, "guarded_map", here):
        yield


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
    """Seven stages on eighteen pictures."""
    fitted_project = small_project()

    from mediarank.base_models.svm import SVMConfig
    from mediarank.evaluation.measured import EvaluationConfig
    from mediarank.media.limits import Limits
    from mediarank.stages import base_models, evaluation, features, frames, manifest, report, systems
    from mediarank.systems.model import Needs

    template = folder / "project"
    in_child(lambda: make(template))
    retrieval, needs = fitted_project.CONFIG, Needs(tuple(fitted_project.FAMILIES))
    lab, copying = fitted_project.FAMILIES["lab"], fitted_project.COPYING
    svm = SVMConfig(penalties=(2.0,), widths=(1.0,))
    runs: dict[str, Callable[[Path], object]] = {
        "manifest": lambda home: manifest.run(manifest.ManifestConfig(), home / "data", home / "labels/journal"),
        "frames": lambda home: frames.run(copying.frames, Limits(), home / "data", home / ".mediarank/cache"),
        "features": lambda home: features.run("lab", lab, home / "data", home / ".mediarank/cache"),
        "base_models": lambda home: base_models.run("lab", svm, home / "data"),
        "systems": lambda home: systems.run("retrieval", retrieval, needs, home / "data"),
        "evaluation": lambda home: evaluation.run("retrieval", EvaluationConfig(resamples=20), home / "data"),
        "report": lambda home: report.run(["retrieval"], report.ReportConfig(), home / "data"),
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
    manifest.run(manifest.ManifestConfig(), data, root / "labels/journal")
    copying = fitted_project.COPYING
    frames.run(copying.frames, copying.limits, data, root / ".mediarank/cache")
    fitted_project.add_systems(root)
    shutil.rmtree(root / ".mediarank")
    for stage in ("check_manifest", "check_features"):
        found = store.read_json(data / stage / "result.json")
        store.write_json(data / stage / "result.json", {**found, "expectations": []})
    fitted_project.lock(root)


def commands(folder: Path) -> dict[str, Work]:
    """`track`, `promote`, `rollback` and `label add`."""
    fitted_project = small_project()
    import mlflow.pyfunc
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401 - so that children need not
    from mlflow import MlflowClient

    from mediarank.ops.models import promotion
    from mediarank.ops.models.promotion_config import PromotionConfig
    from mediarank.ops.runs.tracking import track
    from mediarank.ops.versions import rollback

    os.environ.pop("MLFLOW_TRACKING_URI", None)
    project = folder / "project"
    changes = (
        "create_experiment",
        "create_run",
        "log_batch",
        "log_inputs",
        "log_artifact",
        "log_artifacts",
        "log_dict",
    )
    changes += ("set_terminated", "delete_run", "create_registered_model", "create_model_version")
    changes += ("set_registered_model_alias", "delete_registered_model_alias", "set_model_version_tag")
    client = [(MlflowClient, name) for name in changes]

    def promote(home: Path) -> None:
        # The trial in a fresh process writes nothing, so it is left out.
        with mock.patch.object(promotion, "try_out", return_value={"queries": 0}):
            promotion.promote(home, fitted_project.COPYING, PromotionConfig())

    versioned = folder / "versioned"
    if not versioned.exists():
        in_child(lambda: make_versions(versioned))

    def roll_back(home: Path) -> None:
        from versioned_project import dvc

        dvc(home / "project", "remote", "modify", "--quiet", "--local", "store", "url", str(home / "remote"))
        rollback.rollback(home / "project", "v1")

    return {
        "track": Work(project, track, recorded, unknown_artifacts, client),
        "promote": Work(project, promote, recorded, unknown_artifacts, client),
        "rollback": Work(versioned, roll_back, version_files, left_of_rollback, [(rollback, "git")]),
        "label add": Work(project, add_label, held_statements, temporary_names, [(os, "write")]),
    }


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


def recorded(home: Path) -> Any:
    """What MLflow's database and artifacts hold of runs and versions that are there, without ids and times."""
    with closing(sqlite3.connect(f"{(home / 'mlflow.db').as_uri()}?mode=ro", uri=True)) as database:

        def rows(query: str, *values: str) -> list[Any]:
            return sorted(database.execute(query, values).fetchall(), key=repr)

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
    with closing(sqlite3.connect(f"{(home / 'mlflow.db').as_uri()}?mode=ro", uri=True)) as database:
        known = {run for (run,) in database.execute("SELECT run_uuid FROM runs WHERE lifecycle_stage = 'active'")}
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


def kill_all(folder: Path, most: int | None, only: Sequence[str] = ()) -> dict[str, Any]:
    """All of them, or only those named; the figures of each are printed, their sums are returned."""
    os.environ["MEDIARANK_JOBS"] = "1"
    folder.mkdir(parents=True, exist_ok=True)
    works = {name: work for name, work in (stages(folder) | commands(folder)).items() if not only or name in only}
    total: dict[str, Any] = {"kill_points": 0, "kill_other_bytes": 0, "kill_leftovers": 0}
    for name, work in works.items():
        found = kill_everywhere(name, work, folder / name.replace(" ", "_"), most)
        total = {key: total[key] + found[key] for key in total}
    return {**total, "killed": list(works)}
