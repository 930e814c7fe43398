"""The stages systems, evaluation and report: what they open, what they write, and what a skipped system leaves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import made_system
import numpy as np
import pandas as pd
import pytest
from made_system import Config

from mediarank import store
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.stages import evaluation, report, systems
from mediarank.stages.report import ReportConfig
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, Needs, Parts
from mediarank.systems.registry import model_of, reads
from mediarank.types import MANIFEST_COLUMNS, DataError, FeatureMatrix, Manifest


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    made_system.register(monkeypatch)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def write_report(data: Path) -> str:
    """The page, compared with the summary that is in the data folder itself."""
    if not (data / "report.json").exists():
        store.write_json(data / "report.json", {})
    report.run(["made"], ReportConfig(), data, data, {"splits": {"seed": 7}})
    return (data / "report/report.html").read_text()


def write_report_inputs(data: Path) -> None:
    store.write_manifest(data / "manifest/manifest.parquet", Manifest(pd.DataFrame(columns=list(MANIFEST_COLUMNS))))
    store.write_csv(
        data / "frames/quarantine.csv", pd.DataFrame(columns=["what", "item_id", "source", "reason"], dtype=str)
    )
    store.write_table(data / "frames/frames.parquet", pd.DataFrame({"item_id": [], "path": [], "phash": []}, dtype=str))
    for stage in ("check_manifest", "check_features"):
        store.write_json(data / stage / "result.json", {"expectations": []})


def test_a_fitted_system_is_written_measured_and_shown(tmp_path: Path) -> None:
    made_system.write_project(tmp_path, ["colour", "shape"], ["shape"])
    config = Config(features=("colour",), base_models=("shape",))
    assert "near is served" in systems.run("made", config, Needs(("colour",), ("shape",)), tmp_path)
    folder = tmp_path / "systems/made"
    assert [name for name in files(folder) if "/" not in name] == ["figures.json", "model.json", "model.npz"]
    facts = store.read_json(folder / "model.json")
    assert facts["methods"] == ["near", "far"]
    scores = store.read_scores(folder)
    assert list(scores) == ["near", "far"], "in the order of the facts, not of the alphabet"
    assert scores["near"].names == ("boat", "tree")
    assert set(scores["near"].ids) == set(made_system.roles().items("test"))

    model = model_of("made").from_arrays(store.read_arrays(folder / "model.npz"), facts, Parts())
    described = {"colour": store.read_features(tmp_path / "features/colour")}
    again = model.rank(described, scores["near"].ids.tolist())
    np.testing.assert_allclose(again, scores["near"].values, rtol=1e-6)

    assert "2 methods" in evaluation.run("made", EvaluationConfig(), tmp_path)
    metrics = json.loads((tmp_path / "evaluation/made/metrics.json").read_text())
    assert metrics == {"near": {"accuracy": 1.0}, "far": {"accuracy": 0.0}}

    write_report_inputs(tmp_path)
    page = write_report(tmp_path)
    assert "near is served; methods near, far; opened colour, shape" in page
    assert "There is no earlier version" in page
    assert page.index("Boat or tree?") < page.index("near is served")
    assert "splits.seed" in page


def test_the_report_is_compared_with_the_summary_of_the_version_before(tmp_path: Path) -> None:
    made_system.write_project(tmp_path, ["colour"])
    systems.run("made", Config(), Needs(("colour",)), tmp_path)
    evaluation.run("made", EvaluationConfig(), tmp_path)
    write_report_inputs(tmp_path)
    first = write_report(tmp_path)
    assert write_report(tmp_path) == first, "the same inputs give the same bytes"
    summary = store.read_json(tmp_path / "report/summary.json")
    store.write_json(tmp_path / "report.json", {**summary, "labels": {"boat": 5, "tree": 8}})
    assert "Labels: boat +3." in write_report(tmp_path)
    store.write_json(tmp_path / "report.json", summary)
    assert "Nothing has changed since the last version." in write_report(tmp_path)


def test_only_what_the_configuration_names_is_opened(tmp_path: Path) -> None:
    made_system.write_project(tmp_path, ["colour", "shape"], ["shape"])
    for unnamed in ("features/shape", "base_models/shape"):
        for path in (tmp_path / unnamed).rglob("*"):
            if path.is_file():
                path.write_bytes(b"damaged")
    inputs = systems.read_inputs(Needs(("colour",)), tmp_path)
    assert (list(inputs.features), list(inputs.pools), list(inputs.base_scores)) == (["colour"], [], [])
    with pytest.raises(DataError, match="shape"):
        systems.read_inputs(Needs(("colour",), ("shape",)), tmp_path)


def test_what_a_configuration_reads() -> None:
    @dataclass(frozen=True)
    class Own:
        motion: str = "clips"

        def reads(self) -> Needs:
            return Needs((self.motion,))

    @dataclass(frozen=True)
    class Silent:
        seed: int = 7

    known = (["colour", "shape", "sound"], ["colour"])
    assert reads(Config(features=("shape",), base_models=("colour",)), *known) == Needs(
        ("shape", "colour"), ("colour",)
    ), "base models score vectors"
    assert reads(Config(), *known) == Needs(("colour", "shape", "sound"), ("colour",)), "empty means all"
    assert reads(Silent(), *known) == Needs(()), "no such field means none"
    assert reads(Own(), *known) == Needs(("clips",))


def test_a_skipped_system_says_why_everywhere(tmp_path: Path) -> None:
    made_system.write_project(tmp_path, ["colour"], classes=False)
    assert "needs classes" in systems.run("made", Config(), Needs(("colour",)), tmp_path)
    folder = tmp_path / "systems/made"
    assert list(store.read_json(folder / "model.json")) == ["skipped"]
    assert store.read_scores(folder) == {}
    assert store.read_json(folder / "figures.json") == {}
    evaluation.run("made", EvaluationConfig(), tmp_path)
    assert json.loads((tmp_path / "evaluation/made/metrics.json").read_text()) == {}
    write_report_inputs(tmp_path)
    assert "needs classes" in write_report(tmp_path)


def test_a_system_that_ranks_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = Inputs({"colour": made_system.matrix(0)}, made_system.labels(), made_system.roles())
    empty = FeatureMatrix(np.array([], dtype=str), ("boat",), np.zeros((0, 1), np.float32))

    def idle(inputs: Inputs, config: Config) -> Fitted:
        return Fitted(made_system.fit(inputs, config).model, {"near": empty})

    monkeypatch.setattr(systems, "fit_of", lambda name: idle)
    with pytest.raises(DataError, match="made/near"):
        systems.fit_system("made", inputs, Config())
