"""Stage `wire`: check that dvc.yaml fits params.yaml and the code; `mediarank wire` writes it.

`stages` says what each stage reads and writes; this is the only place where that is written down. The code of a
stage is its module here and all that this imports (`ops/runs/import_closure.py`); for a feature type that includes
the module of its family, for a system the modules of its folder. The stage `wire` itself comes before all others, so
that a `dvc repro` with a dvc.yaml that is out of date stops at once and says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from mediarank import store
from mediarank.ops.runs.import_closure import Imports
from mediarank.systems.model import Needs
from mediarank.types import ConfigError, DataError

PLAN: Final = Path("dvc.yaml")
PARAMS: Final = "params.yaml"
SOURCE: Final = Path("src/mediarank")
RENEW: Final = "mediarank wire"
CHECKED: Final = "wire/checked"
HEADER: Final = """\
# Written by `mediarank wire` from params.yaml and the imports of the code: do not edit it, run that command again.
# A stage has the name of its command; `dvc repro features-hog` brings one of several up to date. Its dependencies are
# the data it reads, the checks it waits for, and the code it runs.
"""
REGISTRIES: Final = ("systems/registry.py", "features/families.py")
"""These only map a name to its module, so they are no dependency: the module itself is."""
DEMO: Final = "collections/demo"
"""A dependency only through `collection.path`, which names it while the demo is the source."""
RESULTS: Final = ("metrics", "plots")
MEASURED: Final = ("metrics.json", "summary.parquet", "per_query.parquet", "curves.csv")

AXES: Final = ("recall", "precision")

Stages = dict[str, dict[str, Any]]


def run(wanted: Wanted, data: Path, root: Path = Path()) -> str:
    """Write `wire/checked` if dvc.yaml is up to date; otherwise stop and say how to renew it."""
    require_fresh(wanted, root)
    store.write_text(data / CHECKED, "dvc.yaml follows params.yaml and the code.\n")
    return f"{PLAN} is up to date."


def write(wanted: Wanted, root: Path = Path()) -> str:
    """Write dvc.yaml unless it is up to date; returns a line that says what changed."""
    text = render(stages(wanted, root / SOURCE))
    changes = _changes(root, text)
    if not changes:
        return f"{PLAN} is up to date."
    store.write_text(root / PLAN, text)
    return f"{PLAN} is renewed: {changes}."


def require_fresh(wanted: Wanted, root: Path = Path()) -> None:
    """Refuse a dvc.yaml that differs from what `write` would write."""
    changes = _changes(root, render(stages(wanted, root / SOURCE)))
    if changes:
        raise DataError(
            f"{PLAN} is out of date, because params.yaml or the imports of the code have changed: {changes}. "
            f"Run `{RENEW}`, then `dvc repro`."
        )


@dataclass(frozen=True)
class Wanted:
    """What params.yaml asks for.

    features : feature type -> the dotted name of its family's module
    base_models : feature types that concept models are trained on
    systems : system -> what it reads
    sections : the sections of params.yaml that stages read
    axes : system -> the columns of its curves that `dvc plots` shows, if they are not recall and precision
    """

    features: Mapping[str, str]
    base_models: Sequence[str] = ()
    systems: Mapping[str, Needs] = field(default_factory=dict)
    sections: Sequence[str] = ("report",)
    axes: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.features, *self.base_models, *self.systems):
            if not re.fullmatch(r"\w[\w-]*", name, re.ASCII):
                raise ConfigError(f"params.yaml: {name!r} can't be the name of a stage; use letters, digits, _ and -.")
        for name in (name for name in self.base_models if name not in self.features):
            raise ConfigError(f"params.yaml: base_models.{name} needs the feature type {name}; add it under features.")


def stages(wanted: Wanted, source: Path = SOURCE) -> Stages:
    """All stages in the order of the pipeline, as dvc.yaml holds them."""
    code = _Code.below(source)
    labels, roles = "data/manifest/labels", "data/splits/roles.parquet"
    source_labels, statements = "data/manifest/source_labels", "data/manifest/statements.csv"
    manifest, quarantine = "data/manifest/manifest.parquet", "data/manifest/quarantine.csv"
    frames, sounds, copies = (f"data/frames/{name}" for name in ("frames.parquet", "sounds.parquet", "media"))
    passed = {check: f"data/{check}/passed" for check in ("check_manifest", "check_features")}
    made: Stages = {
        "wire": {
            "cmd": "bin/mediarank wire --check",
            "deps": [PARAMS, SOURCE.as_posix()],
            "outs": [f"data/{CHECKED}"],
        },
        "collect": _stage(
            "collect",
            [f"data/{CHECKED}", "${collection.path}", *code.of("collect")],
            ["collection"],
            ["data/raw/media", "data/raw/labels", "data/raw/skipped.csv"],
        ),
        "manifest": _stage(
            "manifest",
            ["data/raw/media", "data/raw/labels", "labels/journal", *code.of("manifest")],
            ["manifest"],
            [manifest, labels, source_labels, statements, quarantine],
        ),
        "check_manifest": _check("check_manifest", [manifest, labels, quarantine], code, ["check_manifest"]),
        "frames": _stage(
            "frames",
            ["data/raw/media", manifest, quarantine, passed["check_manifest"], *code.of("frames")],
            ["frames", "manifest.limits"],
            [frames, sounds, "data/frames/quarantine.csv", copies],
        ),
        "splits": _stage("splits", [manifest, source_labels, frames, sounds, *code.of("splits")], ["splits"], [roles]),
    }
    for name, module in wanted.features.items():
        family = source.joinpath(*module.split(".")[1:]).with_suffix(".py")
        made[f"features-{name}"] = _stage(
            f"features {name}",
            [frames, sounds, copies, roles, *code.of("features", family)],
            [f"features.{name}"],
            [f"data/features/{name}"],
        )
    described = [f"data/features/{name}" for name in wanted.features]
    read = [manifest, labels, frames, sounds, roles, *described]
    made["check_features"] = _check("check_features", read, code, ["check_features", "features"])
    for name in wanted.base_models:
        made[f"base_models-{name}"] = _stage(
            f"base_models {name}",
            [labels, roles, passed["check_features"], f"data/features/{name}", *code.of("base_models")],
            [f"base_models.{name}"],
            [f"data/base_models/{name}"],
        )
    for name, needs in wanted.systems.items():
        read = [*(f"data/features/{n}" for n in needs.features), *(f"data/base_models/{n}" for n in needs.base_models)]
        parts = [source / "systems" / name / f"{part}.py" for part in ("config", "fit", "model")]
        made[f"systems-{name}"] = _stage(
            f"systems {name}",
            [labels, roles, passed["check_features"], *read, *code.of("systems", *parts)],
            [f"systems.{name}"],
            [f"data/systems/{name}"],
        )
    reports = {name: source / "systems" / name / "report.py" for name in wanted.systems}
    for name in wanted.systems:
        metrics, summary, per_query, curves = _measured(name)
        made[f"evaluation-{name}"] = {
            **_stage(
                f"evaluation {name}",
                [labels, f"data/systems/{name}", *code.of("evaluation", reports[name])],
                ["evaluation"],
                [summary, per_query],
            ),
            "metrics": [metrics],
            "plots": [_plot(curves, *wanted.axes.get(name, AXES))],
        }
    read = [manifest, labels, frames, "data/frames/quarantine.csv", copies, roles]
    read += [f"data/{check}/result.json" for check in passed]
    read += [path for name in wanted.systems for path in (f"data/systems/{name}", *_measured(name))]
    read.append("baseline/report.json")
    # The page shows all settings, so it is written again when any of them changes.
    made["report"] = _stage(
        "report",
        [*read, *code.of("report", *reports.values())],
        list(wanted.sections),
        [f"data/report/{file}" for file in ("report.html", "summary.json", "results.svg")],
    )
    return made


def render(made: Stages) -> str:
    """dvc.yaml as text: one paragraph per stage, one line per dependency."""
    lines = [HEADER + "stages:"]
    for name, stage in made.items():
        lines += [f"  {name}:", f"    cmd: {stage['cmd']}", "    deps:"]
        lines += [f"      - {path}" for path in stage["deps"]]
        kinds = [kind for kind in ("params", "outs", *RESULTS) if kind in stage]
        lines += [f"    {kind}: [{', '.join(_on_one_line(entry) for entry in stage[kind])}]" for kind in kinds]
        lines.append("")
    return "\n".join(lines)


def _stage(command: str, deps: Sequence[str], params: Sequence[str], outs: Sequence[str]) -> dict[str, Any]:
    return {"cmd": f"bin/mediarank {command}", "deps": list(deps), "params": list(params), "outs": list(outs)}


def _check(name: str, data: Sequence[str], code: _Code, params: Sequence[str]) -> dict[str, Any]:
    """A check also reads the result of the version to compare with; later stages wait for `passed` alone."""
    deps = [*data, f"baseline/{name}.json", *code.of(name)]
    return _stage(name, deps, params, [f"data/{name}/result.json", f"data/{name}/passed"])


def _plot(path: str, x: str, y: str) -> dict[str, Any]:
    """A file of curves as `dvc plots` shows it: one line per method, by `.dvc/plots/by_method.json`."""
    return {path: {"x": x, "y": y, "template": "by_method"}}


def _on_one_line(entry: str | Mapping[str, Any]) -> str:
    """
    >>> _on_one_line("a"), _on_one_line({"b": {"x": "recall"}})
    ('a', '{b: {x: recall}}')
    """
    if isinstance(entry, str):
        return entry
    return "{" + ", ".join(f"{key}: {_on_one_line(value)}" for key, value in entry.items()) + "}"


def _measured(system: str) -> list[str]:
    return [f"data/evaluation/{system}/{file}" for file in MEASURED]


@dataclass(frozen=True)
class _Code:
    """Finds the code that a stage runs, as paths for dvc.yaml."""

    imports: Imports

    @classmethod
    def below(cls, source: Path) -> _Code:
        demo = (source / DEMO).rglob("*.py")
        return cls(Imports(source, frozenset([*(source / name for name in REGISTRIES), *demo])))

    def of(self, stage: str, *chosen: Path) -> list[str]:
        """The stage's module, what its name chooses (a family, a system), and all that they import."""
        source = self.imports.source
        entries = [source / "stages" / f"{stage}.py", *chosen]
        missing = [path for path in entries if not path.is_file()]
        if missing:
            raise DataError(f"{missing[0]} is missing, which the stage {stage} runs; add it or check params.yaml.")
        files = self.imports.gathered(self.imports.closure(entries))
        return [(SOURCE / path.relative_to(source)).as_posix() for path in files]


def _changes(root: Path, text: str) -> str:
    """The stages that are to be added, removed or changed, in words; empty if dvc.yaml has this text."""
    path = root / PLAN
    found = path.read_text() if path.exists() else ""
    if found == text:
        return ""
    old, new = (_parsed(each) for each in (found, text))
    changed = [name for name in new if name in old and old[name] != new[name]]
    kinds = {"new": new.keys() - old.keys(), "changed": changed, "gone": old.keys() - new.keys()}
    return "; ".join(f"{kind}: {_some(names)}" for kind, names in kinds.items() if names) or "its text only"


def _parsed(text: str) -> dict[str, Any]:
    try:
        return dict((yaml.safe_load(text) or {}).get("stages") or {})
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        return {}


def _some(names: Iterable[str]) -> str:
    first, rest = sorted(names)[:5], sorted(names)[5:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")
