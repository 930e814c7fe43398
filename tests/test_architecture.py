"""The layout shows the architecture: these tests hold it to that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/mediarank"
DVC = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())

# `collect` reads the section that names the collection and fills the folder of raw media: its two other words.
SECTION = {"collect": "collection"}
FOLDER = {"collect": "raw"}

# Sections that are read after the stages, by commands.
AFTERWARDS = {"promotion"}

LEVELS = [
    {"types"},
    {"labels", "disk", "seals"},
    {"store", "fanout", "evaluation"},
    {"media"},
    {"collections", "similarity"},
    {"features"},
    {"base_models"},
    {"learners"},
    {"systems"},
    {"teaching"},
    {"asking"},
    {"ops"},
    {"stages"},
    {"config"},
    {"cli"},
]
OPERATIONS = {"mlflow", "prefect", "great_expectations", "dvc"}
ALGORITHMS = {"similarity", "features", "base_models", "learners", "systems", "evaluation"}
CONTRACTS = {"types", "labels", "disk", "seals", "store", "fanout", "config", "__init__", "cli", "__main__"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module named in an import, wherever it stands in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def own_imports(path: Path) -> set[Path]:
    """Files of this project that a file imports."""
    files = set()
    for name in imports(path):
        if name.startswith("mediarank."):
            stem = SOURCE.joinpath(*name.split(".")[1:])
            files |= {file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.exists()}
    return files


@pytest.mark.parametrize("stage", DVC)
def test_one_word_five_places(stage: str) -> None:
    definition = DVC[stage].get("do", DVC[stage])
    section = SECTION.get(stage, stage)
    assert section in PARAMS, "its section in params.yaml"
    assert any(str(p).split(".")[0] == section for p in definition["params"]), "its params in dvc.yaml"
    outputs = [
        str(next(iter(out)) if isinstance(out, dict) else out)
        for kind in ("outs", "metrics", "plots")
        for out in definition.get(kind, ())
    ]
    assert outputs
    assert all(out.startswith(f"data/{FOLDER.get(stage, stage)}/") for out in outputs), "its folder in data/"
    assert (ROOT / "data" / FOLDER.get(stage, stage)).is_dir(), "its folder is kept by git"
    assert (SOURCE / "stages" / f"{stage}.py").exists(), "its module in stages/"
    words = definition["cmd"].split()
    assert words[:2] == ["bin/mediarank", stage], "its command"
    assert f"{stage}" in registered_commands()


def test_every_section_and_stage_module_belongs_to_a_stage() -> None:
    assert set(PARAMS) - AFTERWARDS == {SECTION.get(stage, stage) for stage in DVC}
    assert {p.stem for p in (SOURCE / "stages").glob("*.py")} - {"__init__"} == set(DVC)


def registered_commands() -> set[str]:
    from mediarank.cli import app

    return {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}


@pytest.mark.parametrize("system", PARAMS["systems"])
def test_a_system_has_one_name_in_four_places(system: str) -> None:
    assert (SOURCE / "systems" / system / "fit.py").exists()
    assert (ROOT / "docs/papers" / f"{system}.md").exists()
    assert (ROOT / "tests/systems" / system).is_dir()


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_point_downwards(path: Path) -> None:
    level = {name: k for k, names in enumerate(LEVELS) for name in names}
    here = package(path)
    if here in ("__init__", "__main__"):
        return
    for name in imports(path):
        if name.startswith("mediarank."):
            there = name.split(".")[1]
            if there in level and there != here:
                assert level[there] < level[here], f"{here} may not import {there}"
                assert here != "evaluation" or there == "types", "evaluation imports only types"
        if name.split(".")[0] in OPERATIONS:
            assert here == "ops", f"only ops/ and flows/ import {name}"
        if here in ALGORITHMS:
            assert name.split(".")[0] != "yaml", "algorithms don't read configuration files"
            assert name != "mediarank.store", "algorithms don't read or write files"


def test_flows_import_no_algorithm() -> None:
    for path in (ROOT / "flows").glob("*.py"):
        for name in imports(path):
            if name.startswith("mediarank."):
                assert name.split(".")[1] in {"ops", "types"}, f"{path.name} has logic in it: {name}"


def test_no_params_key_that_dvc_ignores() -> None:
    def keys(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)

    assert not {"size", "nfiles"} & set(keys(PARAMS))


@pytest.mark.parametrize("stage", DVC)
def test_a_stage_depends_on_the_code_it_runs(stage: str) -> None:
    """Everything that the stage's module imports, directly or not, is a dependency in dvc.yaml.

    Contracts are left out on purpose: what they say reaches a stage through its data and params. A registry names
    code that a stage may run; which of it does run is the stage's key: a system itself, or what reports on it.
    """
    definition = DVC[stage].get("do", DVC[stage])
    runs = {"systems": "{}/fit.py", "evaluation": "{}/report.py", "report": "{}/report.py"}.get(stage)
    for key in PARAMS["systems"] if runs else [""]:
        listed = [ROOT / str(d).replace("${key}", key) for d in definition["deps"] if str(d).startswith("src/")]
        queue, closure = [SOURCE / "stages" / f"{stage}.py"], set()
        if runs:
            queue.append(SOURCE / "systems" / runs.format(key))
        while queue:
            path = queue.pop()
            if path in closure or package(path) in CONTRACTS or path.stem in ("registry", "__init__"):
                continue
            closure.add(path)
            queue += own_imports(path)
        uncovered = [p for p in closure if not any(p == d or d in p.parents for d in listed)]
        assert not [p.relative_to(ROOT).as_posix() for p in uncovered], key


def test_features_are_listed_where_they_are_read() -> None:
    """foreach can't list its own outputs as dependencies, so dvc.yaml names them; params.yaml decides which."""
    wanted = {f"data/features/{name}" for name in PARAMS["features"]}
    for stage in ("check_features", "systems"):
        definition = DVC[stage].get("do", DVC[stage])
        assert {d for d in definition["deps"] if d.startswith("data/features/")} == wanted, stage
