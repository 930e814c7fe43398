"""The layout follows the architecture."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mediarank import config
from mediarank.ops.runs.import_closure import imports
from mediarank.stages import wire

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/mediarank"
DVC = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())

# `collect` reads the section that names the collection and fills the folder of raw media: its two other words.
SECTION = {"collect": "collection"}
FOLDER = {"collect": "raw"}
# `wire` has no settings: it reads which features, base models and systems there are.
WITHOUT_SECTION = {"wire"}

# Sections that are read after the stages, by commands.
AFTERWARDS = {"promotion"}
# Lines that concern several sections.
SWITCHES = {"pretrained"}

LEVELS = [
    {"types"},
    {"labels", "disk", "seals", "pretrained", "content_cache", "cluster"},
    {"fanout", "evaluation"},
    {"store"},
    {"media"},
    {"collections", "similarity"},
    {"features"},
    {"base_models"},
    {"learners"},
    {"systems"},
    {"asking"},
    {"teaching"},
    {"ops"},
    {"explorer"},
    {"stages"},
    {"config"},
    {"cli"},
]
OPERATIONS = {"mlflow", "prefect", "great_expectations", "dvc"}
ALGORITHMS = {"similarity", "features", "base_models", "learners", "systems", "evaluation"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def word(stage: str) -> str:
    """`features` of `features-hog`."""
    return stage.partition("-")[0]


@pytest.mark.parametrize("stage", DVC)
def test_one_word_five_places(stage: str) -> None:
    definition, name = DVC[stage], word(stage)
    if name not in WITHOUT_SECTION:
        section = SECTION.get(name, name)
        assert section in PARAMS, "its section in params.yaml"
        assert any(str(p).split(".")[0] == section for p in definition["params"]), "its params in dvc.yaml"
    outputs = [out for kind in ("outs", "metrics") for out in definition.get(kind, ())]
    outputs += [path for plot in definition.get("plots", ()) for path in plot]
    assert outputs
    assert all(out.startswith(f"data/{FOLDER.get(name, name)}/") for out in outputs), "its folder in data/"
    assert (SOURCE / "stages" / f"{name}.py").exists(), "its module in stages/"
    assert definition["cmd"].split()[:2] == ["bin/mediarank", name], "its command"
    assert name in registered_commands()


def test_every_section_and_stage_module_belongs_to_a_stage() -> None:
    words = {word(stage) for stage in DVC}
    assert set(PARAMS) - AFTERWARDS - SWITCHES == {SECTION.get(name, name) for name in words - WITHOUT_SECTION}
    assert {p.stem for p in (SOURCE / "stages").glob("*.py")} - {"__init__"} == words


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


def test_dvc_yaml_is_up_to_date() -> None:
    """If this fails, run `mediarank wire`."""
    wire.require_fresh(config.load(ROOT / "params.yaml").wanted, ROOT)


def test_git_tracks_no_data() -> None:
    """An output folder that git tracks can't be a stage's output again."""
    listed = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {Path(name).name for name in listed.stdout.splitlines()} <= {".gitignore"}


@pytest.mark.parametrize(
    "path",
    [
        *(f"data/{word(stage)}/anything" for stage in ("collect", "features-hog", "wire")),
        "search.html", "find.html", "sorted.html", "sorted.csv", "fused.csv", "a.jpg.features.png",
        ".mediarank/cache/x", "mlflow.db",
    ],
)  # fmt: skip
def test_git_ignores_what_commands_write(path: str) -> None:
    done = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=ROOT, check=False)
    assert done.returncode == 0
