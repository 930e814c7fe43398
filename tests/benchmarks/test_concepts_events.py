"""The benchmarks of concepts and events can be imported; that of concepts runs on a made-up collection."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from concepts_data import Described

from mediarank.types import FeatureMatrix, Judgments

MODULES = (
    "concepts", "concepts_compare", "concepts_data", "concepts_speed",
    "events", "events_bands", "events_data", "events_made", "events_made_clips", "events_real", "events_speed",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_they_are_imported(name: str) -> None:
    import_module(name)


def described() -> Described:
    """Three concepts of 20 items each, shown by six hidden values that three feature types see with noise."""
    rng = np.random.default_rng(0)
    ids = np.array([f"{number:03d}.jpg" for number in range(160)])
    hidden = rng.normal(size=(len(ids), 6))
    pairs = [(f"c{k}", ids[n]) for k in range(3) for n in np.argsort(-hidden[:, k])[:20]]
    judgments = Judgments.from_pairs(pairs, ids.tolist())
    names = tuple(map(str, range(8)))
    seen = [hidden @ rng.normal(size=(6, 8)) + rng.normal(scale=0.3, size=(len(ids), 8)) for _ in range(3)]
    features = {f"type{t}": FeatureMatrix(ids, names, (v - v.min()).astype(np.float32)) for t, v in enumerate(seen)}
    looks = {item: f"{rng.integers(2**63):016x}" for item in ids.tolist()}
    return Described(features, judgments, dict.fromkeys(features, 0.001), looks, judgments)


def test_concepts_measures_both_rows_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = import_module("concepts")
    monkeypatch.setattr(benchmark, "describe", lambda *_: described())
    arguments = ["--data", "FOLDER", "--cache", str(tmp_path), "--out", str(tmp_path / "out"), "--repeats", "0"]
    monkeypatch.setattr("sys.argv", ["concepts.py", *arguments, "--seeds", "1"])
    benchmark.main()
    found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert {"map", "evaluations_fraction", "speedup_map100_evaluations", "speedup_full_evaluations"} <= set(
        found["best"]
    )
    assert found["rows"]["ridge"]["map"]["rankboost"] > 0.4
    assert found["rows"]["paper"]["evaluations"]["logistic_stacking"] == 6
    assert "lightgbm" in found["rows"]["paper"]["map"]
    assert {(s["range"], s["step"]) for s in found["settings"]} == {
        (score_range, step) for score_range in ("symmetric", "unit") for step in ("bound", "exact")
    }
    nine = pd.read_csv(tmp_path / "out/figure9.csv")
    assert len(nine.groupby(["regulariser", "regularization"])) == 9
    assert np.isfinite(nine[["evaluations", "map"]].to_numpy()).all()
    monkeypatch.setattr("concepts_measure.measure", None)
    benchmark.main()
    again = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert again["best"] == found["best"], "from the cache: nothing is fitted again"
