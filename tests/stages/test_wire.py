"""dvc.yaml follows params.yaml and the code: what each stage lists, and what reruns after which change.

The second half works in a scratch copy of this repository: first with made-up outputs and `dvc status`, then for real,
with a feature type, a family and a system that are added as CONTRIBUTING.md says.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
import scratch_project as scratch
import yaml
from versioned_project import dvc

from mediarank import config
from mediarank.stages import wire
from mediarank.stages.wire import Wanted
from mediarank.systems.model import Needs
from mediarank.systems.registry import SYSTEMS
from mediarank.types import ConfigError, DataError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/mediarank"
pytestmark = pytest.mark.timeout(900)  # the last test runs a whole small pipeline


@pytest.fixture(scope="module")
def shipped() -> wire.Stages:
    return wire.stages(config.load(ROOT / "params.yaml").wanted, SOURCE)


def code(stage: dict[str, list[str]]) -> set[str]:
    return {dep.removeprefix("src/mediarank/") for dep in stage["deps"] if dep.startswith("src/mediarank/")}


def test_a_feature_stage_lists_its_own_family(shipped: wire.Stages) -> None:
    assert "features/hog.py" in code(shipped["features-hog"])
    assert not {"features/gist.py", "features/families.py"} & code(shipped["features-hog"])
    assert "features/hog.py" not in code(shipped["features-gist"])


def test_a_system_lists_its_own_folder_and_what_it_reads(shipped: wire.Stages) -> None:
    for name in ("concepts", "events", "retrieval", "attributes", "annotation"):
        folders = {path.split("/")[1] for path in code(shipped[f"systems-{name}"]) if path.startswith("systems/")}
        assert {folder for folder in folders if not folder.endswith(".py")} == {name}
    events = {dep for dep in shipped["systems-events"]["deps"] if dep.startswith(("data/features", "data/base_models"))}
    named = ("motion", "flow", "gist_frames", "sound", "network_classes")
    assert events == {*(f"data/features/{name}" for name in named), "data/base_models/gist_frames"}


@pytest.mark.parametrize("module", ["types.py", "labels.py", "store.py"])
def test_the_contracts_are_dependencies(shipped: wire.Stages, module: str) -> None:
    for stage in ("splits", "systems-concepts", "evaluation-retrieval"):
        assert module in code(shipped[stage])


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("features/hog.py", {"features-hog"}),
        ("learners/neighbours/tagprop.py", {"systems-annotation"}),
        ("systems/events/fit.py", {"systems-events"}),
        ("systems/concepts/report.py", {"evaluation-concepts", "report"}),
        ("collections/sources.py", {"collect"}),
        ("systems/registry.py", set()),
        ("cli/stages.py", set()),
    ],
)
def test_a_module_is_listed_by_what_runs_it(shipped: wire.Stages, module: str, expected: set[str]) -> None:
    assert (SOURCE / module).is_file()
    parents = {parent.as_posix() for parent in Path(module).parents}
    users = {name for name, stage in shipped.items() if code(stage) & {module, *parents}}
    assert users == expected


def test_every_system_reads_something(shipped: wire.Stages) -> None:
    for name, stage in shipped.items():
        if name.startswith("systems-"):
            assert [dep for dep in stage["deps"] if dep.startswith(("data/features/", "data/base_models/"))], name


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_default_settings_of_a_system_can_run(name: str) -> None:
    """They name only feature types and base models that the shipped params.yaml has."""
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    values["systems"][name] = {}
    needs = config.Params(values).reads(name)
    assert needs.features or needs.base_models


@pytest.mark.parametrize("name", ["a b", "a/b", "../a", "a.b", "a@b", "${x}", "", "-a"])
def test_a_name_that_dvc_would_refuse_is_refused_first(name: str) -> None:
    with pytest.raises(ConfigError, match="name of a stage"):
        Wanted({name: "mediarank.features.hog"})


def test_a_base_model_needs_its_feature_type() -> None:
    with pytest.raises(ConfigError, match="gist"):
        Wanted({"hog": "mediarank.features.hog"}, ["gist"])


def test_the_text_says_the_same_as_the_stages(shipped: wire.Stages) -> None:
    assert yaml.safe_load(wire.render(shipped))["stages"] == shipped


def test_a_stale_plan_is_refused_with_the_command_that_renews_it(tmp_path: Path) -> None:
    (tmp_path / "src").symlink_to(ROOT / "src")
    one = Wanted({"hog": "mediarank.features.hog"})
    two = Wanted({"hog": "mediarank.features.hog", "gist": "mediarank.features.gist"})
    data = tmp_path / "data"
    with pytest.raises(DataError, match="mediarank wire"):
        wire.run(one, data, tmp_path)
    assert not data.exists()
    assert "features-hog" in wire.write(one, tmp_path)
    wire.run(one, data, tmp_path)
    assert (data / wire.CHECKED).exists()
    before = (tmp_path / "dvc.yaml").stat().st_mtime_ns
    assert "up to date" in wire.write(one, tmp_path)
    assert (tmp_path / "dvc.yaml").stat().st_mtime_ns == before
    with pytest.raises(DataError, match=r"new: features-gist; changed: check_features"):
        wire.require_fresh(two, tmp_path)
    with pytest.raises(DataError, match=r"new: .*systems-retrieval"):
        wire.require_fresh(Wanted(one.features, (), {"retrieval": Needs(("hog",))}), tmp_path)
    (tmp_path / "dvc.yaml").write_text("stages: [")
    with pytest.raises(DataError, match="mediarank wire"):
        wire.require_fresh(one, tmp_path)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scratch project whose stages are recorded as done, with one line of text for each output."""
    made = scratch.make(tmp_path_factory.mktemp("wire") / "project")
    for stage in scratch.stages(made).values():
        drawn = [path for plot in stage.get("plots", ()) for path in plot]
        for out in (*stage["outs"], *stage.get("metrics", ()), *drawn):
            path = made / out
            path = path if path.suffix or path.name in ("passed", "checked") else path / "content"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}\n" if path.suffix == ".json" else f"{out}\n")
    dvc(made, "commit", "--force", "--quiet")
    assert not scratch.changed(made)
    return made


@pytest.fixture
def restored(project: Path) -> object:
    """The project; what a test changes in params.yaml, the code and outputs is put back."""
    # DVC removes what `wire` wrote before it runs again.
    files = (project / "params.yaml", project / "dvc.yaml", project / "data" / wire.CHECKED)
    kept = {path: path.read_bytes() for path in files}
    kept |= {path: path.read_bytes() for path in (project / "src").rglob("*.py")}
    kept |= {path: path.read_bytes() for path in (project / "data/features").rglob("content")}
    yield project
    for path, content in kept.items():
        if not path.exists() or path.read_bytes() != content:
            path.unlink(missing_ok=True)
            path.write_bytes(content)


def test_one_features_setting_reruns_only_the_systems_that_read_it(restored: Path) -> None:
    values = scratch.params(restored)
    values["features"]["gabor"]["normalisation"] = "sqrt"
    scratch.write_params(restored, values)
    # The report shows all settings.
    assert scratch.changed(restored) == {"wire", "features-gabor", "check_features", "report"}
    # As if the stage had run: its output is another one.
    content = restored / "data/features/gabor/content"
    content.unlink()
    content.write_text("other\n")
    reruns = {stage for stage in scratch.changed(restored) if stage.startswith(("base_models", "systems"))}
    assert reruns == {"systems-retrieval", "systems-attributes", "systems-annotation"}


def test_an_edited_family_reruns_its_features(restored: Path) -> None:
    edit(restored, "features/hog.py")
    assert scratch.changed(restored) == {"wire", "features-hog"}


def edit(project: Path, module: str) -> None:
    path = project / "src/mediarank" / module
    path.write_text(path.read_text() + "\n# edited\n")


def test_editing_the_labels_contract_reruns_what_uses_it(restored: Path) -> None:
    edit(restored, "labels.py")
    stages = scratch.stages(restored)
    users = {name for name in stages if name.startswith(("splits", "manifest", "base_models", "systems", "evaluation"))}
    assert users <= scratch.changed(restored)


def test_the_painter_is_a_dependency_only_while_the_demo_is_the_source(restored: Path, tmp_path: Path) -> None:
    edit(restored, "collections/demo/scenes/field.py")
    assert "collections/demo" in str(scratch.status(restored, "collect"))
    values = scratch.params(restored)
    values["collection"] |= {"source": "folder", "path": str(tmp_path)}
    scratch.write_params(restored, values)
    before = scratch.status(restored, "collect")
    edit(restored, "collections/demo/scenes/coast.py")
    after = scratch.status(restored, "collect")
    assert "params.yaml" in str(before)
    assert after == before
    assert "up to date" in scratch.must_run(restored, "mediarank", "wire"), "another source needs no new dvc.yaml"


def test_dvc_repro_stops_at_a_stale_plan(restored: Path) -> None:
    values = scratch.params(restored)
    values["features"]["edges"] = {"family": "edge_direction"}
    scratch.write_params(restored, values)
    done = scratch.run(restored, "dvc", "repro", "features-hog")
    assert done.returncode != 0
    assert "Run `mediarank wire`" in done.stderr + done.stdout
    assert "Running stage 'collect'" not in done.stdout


# What CONTRIBUTING.md says about adding a feature type, a family and a system, done in a scratch project.

FAMILY = '''
"""Brightness: the mean and the spread of a picture's pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mediarank.features.base import ImageExtractor, Picture
from mediarank.types import Floats


@dataclass(frozen=True)
class Brightness(ImageExtractor):
    def region_names(self) -> tuple[str, ...]:
        return ("mean", "spread")

    def extract_region(self, picture: Picture) -> Floats:
        return np.array([picture.mean() / 255, picture.std() / 255], dtype=np.float32)
'''


def pictures(folder: Path) -> Path:
    """Bright and dark noise, 12 of each, in two folders that are their classes."""
    random = np.random.default_rng(3)
    for name, low in (("dark", 0), ("bright", 150)):
        (folder / name).mkdir(parents=True)
        for number in range(12):
            picture = random.integers(low, low + 100, size=(48, 64, 3)).astype(np.uint8)
            cv2.imwrite(str(folder / name / f"{number:02d}.png"), picture)
    return folder


def add_line(path: Path, before: str, line: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, line + before))


def test_a_type_a_family_and_a_system_are_added_as_contributing_says(tmp_path: Path) -> None:
    project = scratch.make(tmp_path / "project")
    values = scratch.params(project)
    values["collection"] |= {"source": "folder", "path": str(pictures(tmp_path / "pictures"))}
    values |= {"features": {}, "base_models": {}, "systems": {}}
    scratch.write_params(project, values)
    source = project / "src/mediarank"

    # A feature type: one line in params.yaml.
    values["features"]["moments"] = {"family": "colour_moments", "space": "hsv"}
    scratch.write_params(project, values)
    scratch.must_run(project, "mediarank", "wire")
    assert "data/features/moments" in scratch.stages(project)["check_features"]["deps"]

    # A family: one file, one import and one line in the registry.
    (source / "features/brightness.py").write_text(FAMILY.lstrip())
    families = source / "features/families.py"
    add_line(
        families, "from mediarank.features.colour_histogram", "from mediarank.features.brightness import Brightness\n"
    )
    add_line(families, '    "hog": Hog,\n', '    "brightness": Brightness,\n')
    values["features"]["light"] = {"family": "brightness"}

    # A system: one folder, one word in the registry, one entry in params.yaml.
    made = source / "systems/made"
    made.mkdir()
    text = (ROOT / "tests/systems/made_system.py").read_text()
    (made / "__init__.py").write_text('"""`made`: bright or dark?"""\n')
    (made / "model.py").write_text(text)
    for part, names in (("config", "Config"), ("fit", "fit"), ("report", "answer, measure, section")):
        (made / f"{part}.py").write_text(f"from mediarank.systems.made.model import {names}  # noqa: F401\n")
    add_line(source / "systems/registry.py", '"concepts", "events"', '"made", ')
    values["systems"]["made"] = {"features": ["light"]}
    scratch.write_params(project, values)

    renewed = scratch.must_run(project, "mediarank", "wire")
    for stage in ("features-light", "systems-made", "evaluation-made"):
        assert stage in renewed
    stages = scratch.stages(project)
    assert "src/mediarank/features/brightness.py" in stages["features-light"]["deps"]
    assert "src/mediarank/features/brightness.py" not in stages["features-moments"]["deps"]
    read = {dep for dep in stages["systems-made"]["deps"] if dep.startswith("data/features")}
    assert read == {"data/features/light"}

    scratch.must_run(project, "mediarank", "run", "--no-track")
    metrics = json.loads((project / "data/evaluation/made/metrics.json").read_text())
    assert metrics["near"]["accuracy"] == 1.0
    assert "near is served" in (project / "data/report/report.html").read_text()
    assert not scratch.changed(project)
    status = subprocess.run(
        ["git", "status", "--short", "data"], cwd=project, capture_output=True, text=True, check=True
    )
    assert status.stdout.split() in ([], ["A", "data/.gitignore"]), "a run leaves nothing in data/ that git would add"
