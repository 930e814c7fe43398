"""What is recorded about a run, gathered from the workspace: metrics, settings, versions, files.

Nothing here imports MLflow; `tracking.py` writes the record.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mediarank import store
from mediarank.evaluation.version_changes import changes, headline
from mediarank.ops.runs.report_baseline import BASELINE, SUMMARY
from mediarank.ops.versions.git import ask_git
from mediarank.ops.versions.lockfile import LOCK, PARAMS, PLAN, Lock
from mediarank.types import DataError

FIGURES: Final = (".png", ".svg")
LOCK_TAG: Final = "mediarank.lock"
SYSTEM_TAG: Final = "mediarank.system"
NEW_TAG: Final = "mediarank.new"


@dataclass(frozen=True)
class Record:
    """One run.

    files : pairs of a file and its folder among the run's artifacts
    note : describes it in Markdown
    items : kind -> how many
    """

    name: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    files: tuple[tuple[Path, str], ...] = ()
    systems: Mapping[str, Record] = field(default_factory=dict)
    note: str = ""
    items: Mapping[str, int] = field(default_factory=dict)


def gather(lock: Lock) -> Record:
    """The record for `lock`, after checking that the workspace matches it."""
    lock.require_same_params()
    before, now = summaries(lock.root)
    systems = {name: _system(lock, name, now) for name in evaluated_systems(lock)}
    if not systems:
        raise DataError("No system has been evaluated: dvc.lock has no output below data/evaluation; run dvc repro.")
    new = headline(before, now) if now else ""
    return Record(
        name=f"{lock.data_version[:7]}-{lock.key[:7]}{f' · {new}' if new else ''}",
        params=flatten(lock.params),
        metrics={
            **{f"{name}/{metric}": v for name, system in systems.items() for metric, v in system.metrics.items()},
            **{column(name, found): found["mean"] for name, found in now.get("systems", {}).items()},
        },
        tags={
            LOCK_TAG: lock.key,
            **({NEW_TAG: new} if new else {}),
            "mediarank.data_version": lock.data_version,
            "mediarank.version": version("mediarank"),
            **git_state(lock.root),
        },
        files=tuple(_files(lock, systems)),
        systems=systems,
        note=version_note(before, now),
        items=now.get("items", {}),
    )


def column(system: str, found: Mapping[str, Any]) -> str:
    """The name of a system's main measure: the columns of the list of runs."""
    return f"{system} {found['measure']}"


def summaries(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summaries of the report before and of this one; empty where there is none."""
    return _json(root / BASELINE), _json(root / SUMMARY)


def version_note(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What changed, and the methods that answer with their intervals, in Markdown."""
    if not now:
        return ""
    new = changes(before, now) or [headline(before, now).capitalize() + "."]
    lines = ["**What is new**", "", *(f"- {sentence}" for sentence in new), "", "**What is found, on test items**", ""]
    lines += ["| system | method that answers | measure | mean | interval |", "|---|---|---|--:|---|"]
    lines += [
        f"| {name} | `{r['served']}` | {r['measure']} | {r['mean']:.3f} | {r['low']:.3f} to {r['high']:.3f} |"
        for name, r in now["systems"].items()
    ]
    return "\n".join([*lines, "", "The page is among the artifacts: `report.html`."])


def system_note(name: str, found: Mapping[str, Any]) -> str:
    """The method that answers, its measure, and the names that are found best and worst."""
    shares = sorted(found["names"], key=lambda word: (-found["names"][word], word))
    lines = [
        f"`{found['served']}` answers: {found['measure']} {found['mean']:.3f} "
        f"({found['low']:.3f} to {found['high']:.3f}) on test items."
    ]
    if len(shares) > 1:
        lines += ["", f"Found best: {', '.join(shares[:5])}. Found worst: {', '.join(shares[::-1][:5])}."]
    return "\n".join([*lines, "", f"How it works and what was measured: `docs/papers/{name}.md`."])


def _json(path: Path) -> dict[str, Any]:
    return dict(store.read_json(path)) if path.exists() else {}


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """`{"a": {"b": [1, 2]}}` as `{"a.b": "[1, 2]"}`."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{_nameable(str(key))}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{name}.")
        else:
            flat[name] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat


def read_metrics(path: Path) -> dict[str, float]:
    """The numbers of a metrics.json as `method/metric`; undefined ones (null) are left out."""
    return parse_metrics(path.read_bytes(), str(path))


def parse_metrics(content: bytes, what: str) -> dict[str, float]:
    """The same from given content; `what` names it in errors."""
    flat: dict[str, float] = {}

    def visit(value: Any, name: str) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                visit(inner, f"{name}/{_nameable(str(key))}" if name else _nameable(str(key)))
        elif isinstance(value, int | float) and math.isfinite(value):
            if name in flat:
                raise DataError(f"{what}: two metrics are both called {name} once special characters are replaced.")
            flat[name] = float(value)

    visit(json.loads(content), "")
    return flat


def git_state(root: Path) -> dict[str, str]:
    """The commit, and whether tracked files differ from it, not counting what a run itself writes."""
    commit = ask_git(root, "rev-parse", "HEAD")
    written = (f":(exclude){name}" for name in (LOCK, BASELINE))
    changes = ask_git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *written)
    if commit is None or changes is None:
        return {"mediarank.git_commit": "none"}
    return {
        "mediarank.git_commit": commit,
        "mediarank.git_dirty": "true" if changes else "false",
        "mlflow.source.git.commit": commit,  # the tag that MLflow's own pages use
    }


def evaluated_systems(lock: Lock) -> list[str]:
    return sorted({Path(out).parts[2] for out in lock.outs("data/evaluation") if len(Path(out).parts) > 2})


def _system(lock: Lock, name: str, now: Mapping[str, Any]) -> Record:
    files = lock.files(f"data/evaluation/{name}")
    metrics = next((path for path in files if path.name == "metrics.json"), None)
    if metrics is None:
        raise DataError(f"data/evaluation/{name} has no metrics.json; run dvc repro.")
    used: dict[str, str] = {}
    # Versions before `mediarank wire` used `foreach`, which puts an @ before the key.
    own_stages = {f"{stage}{mark}{name}" for stage in ("systems", "evaluation") for mark in "-@"}
    for address, stage in lock.stages.items():
        if address in own_stages:
            used |= flatten(stage.get("params", {}).get(PARAMS, {}))
    own = f"systems.{name}."
    return Record(
        name=name,
        params={key.removeprefix(own): value for key, value in used.items()},
        metrics=read_metrics(metrics),
        tags={SYSTEM_TAG: name, "mediarank.data_version": lock.data_version},
        files=tuple((path, "") for path in files),
        note=system_note(name, now["systems"][name]) if name in now.get("systems", {}) else "",
    )


def _files(lock: Lock, systems: Mapping[str, Record]) -> list[tuple[Path, str]]:
    quarantine = lock.files("data/frames/quarantine.csv") or lock.files("data/manifest/quarantine.csv")
    checks = [path for out in ("check_manifest", "check_features") for path in lock.files(f"data/{out}")]
    return [
        *((lock.root / name, "") for name in (LOCK, PLAN, PARAMS)),
        *((path, "") for path in lock.files("data/report")),
        *((path, "") for path in quarantine),
        *((path, f"checks/{path.parent.name}") for path in checks),
        *(
            (path, f"figures/{name}")
            for name, system in systems.items()
            for path, _ in system.files
            if path.suffix in FIGURES
        ),
    ]


def _nameable(word: str) -> str:
    """A part of a parameter's or metric's name with only the characters that MLflow allows."""
    return re.sub(r"[^\w.\- :]", "_", word)
