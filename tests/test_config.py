"""params.yaml: unknown keys are refused with a hint, values are checked, the shipped file is valid."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
import yaml

from mediarank import config
from mediarank.config import Params
from mediarank.types import ConfigError

ROOT = Path(__file__).parents[1]
SHIPPED = yaml.safe_load((ROOT / "params.yaml").read_text())


def changed(path: str, value: Any) -> dict[str, Any]:
    values = copy.deepcopy(SHIPPED)
    *parents, last = path.split(".")
    target = values
    for part in parents:
        target = target[part]
    target[last] = value
    return values


def test_the_shipped_file_is_valid_and_says_what_the_defaults_are() -> None:
    params = config.load(ROOT / "params.yaml")
    assert params.frames.max_side == SHIPPED["frames"]["max_side"]
    printed = params.check()
    assert list(printed) == list(SHIPPED)
    assert printed["features"]["hog"]["family"] == "hog"
    assert Params(printed).check() == printed, "what is printed can be read again"


def test_params_are_frozen() -> None:
    params = Params(SHIPPED)
    with pytest.raises(FrozenInstanceError):
        params.frames = None  # type: ignore[assignment, misc]
    with pytest.raises(FrozenInstanceError):
        params.frames.max_side = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("frame", {}, "frame is not a known section; did you mean frames"),
        ("frames.max_sid", 320, "frames.max_sid is not a known key; did you mean max_side?"),
        ("manifest.limits.max_pixel", 1, "did you mean max_pixels?"),
        ("systems.retrieval.sed", 1, "did you mean seed?"),
        ("frames.max_side", "wide", r"frames.max_side: .*\(found 'wide'\)"),
        ("frames.max_side", 0, "frames.max_side: .*greater than"),
        ("splits.image", {"base": 0.9, "rank": 0.9, "valid": 0, "test": 0}, "must sum to 1, not 1.8"),
        ("features.hog", {"family": "hogg"}, "family 'hogg' is unknown; did you mean hog?"),
        ("features.hog", {"family": "hog", "granularty": "2x2"}, "granularty is .* did you mean granularity"),
        ("frames.size", 3, "frames.size: DVC ignores keys named size or nfiles"),
    ],
)
def test_mistakes_are_explained(path: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Params(changed(path, value)).check()


def test_files_that_are_no_params(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="project's folder"):
        config.load(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="not valid YAML"):
        config.load(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_text("")
    with pytest.raises(ConfigError, match="check_manifest"):
        config.load(tmp_path / "params.yaml")


def test_names_are_looked_up_with_a_hint() -> None:
    with pytest.raises(ConfigError, match="did you mean hog"):
        Params(SHIPPED).feature_type("hogs")
    with pytest.raises(ConfigError, match="did you mean retrieval"):
        Params(SHIPPED).system("retrival")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("systems.retrieval.features", ["hogg"], r"systems\.retrieval reads features\.hogg.*did you mean hog"),
        ("systems.concepts.base_models", ["gabor"], r"systems\.concepts reads base_models\.gabor"),
    ],
)
def test_a_system_reads_only_what_is_in_the_file(path: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Params(changed(path, value)).reads(path.split(".")[1])


def test_what_each_system_reads() -> None:
    params = Params(SHIPPED)
    models = tuple(SHIPPED["systems"]["concepts"]["base_models"])
    assert params.reads("concepts").base_models == models
    assert params.reads("concepts").features == models, "the vectors that base models score"
    assert set(params.reads("events").features) == {"motion", "flow", "gist_frames", "sound", "network_classes"}
    assert params.reads("attributes").features == tuple(
        k["feature"] for k in SHIPPED["systems"]["attributes"]["kernels"]
    )
    assert Params(changed("systems.concepts.base_models", [])).reads("concepts").base_models == tuple(
        SHIPPED["base_models"]
    ), "empty means all"


def test_the_schema_describes_sections_and_families() -> None:
    schema = config.schema()
    assert set(schema) == set(SHIPPED)
    assert "granularity" in schema["features"]["hog"]["properties"]
    assert "seed" in schema["systems"]["retrieval"]["properties"]


def test_a_section_costs_only_its_own_imports() -> None:
    code = "import sys; from mediarank import config; config.load().frames; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_one_line_less_leaves_pretrained_networks_out_everywhere(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("pretrained:")]
    assert len(lines) == len(text.splitlines()) - 1
    path = tmp_path / "params.yaml"
    path.write_text("\n".join(lines))
    whole, papers = config.load(ROOT / "params.yaml"), config.load(path)
    networks = {name for name, family in whole.families.items() if family == "network"}
    assert networks
    assert set(papers.features) == set(whole.features) - networks
    assert set(papers.base_models) == set(whole.base_models) - networks
    for name in papers.systems:
        assert not networks & set(papers.reads(name).features)
    assert papers.system("events").classifiers == ("motion", "flow", "objects", "scene", "sound")
    assert whole.system("events").classifiers == ("motion", "flow", "objects", "scene", "sound", "network")
    papers.check()


def test_pretrained_is_true_or_false(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("pretrained: sometimes\n")
    with pytest.raises(ConfigError, match="true or false"):
        config.load(path)
