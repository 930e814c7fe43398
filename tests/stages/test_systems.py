"""A system that the collection is none for is left out, with its reason, and the line goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.stages import systems
from mediarank.stages.evaluation import evaluate
from mediarank.stages.report import ReportConfig, SystemResult, build_report
from mediarank.stages.systems import run_system
from mediarank.systems.contract import Inputs, Outcome
from mediarank.systems.retrieval.fit import RetrievalConfig
from mediarank.types import MANIFEST_COLUMNS, DataError, FeatureMatrix, Manifest, Roles

ROLES = Roles(pd.DataFrame({"item_id": ["a.jpg"], "group_id": ["a.jpg"], "role": ["base"], "fold": [0]}))


def matrix() -> FeatureMatrix:
    return FeatureMatrix(np.array(["a.jpg"]), ("x",), np.ones((1, 1), np.float32))


def test_nothing_to_do_is_said_measured_and_shown(tmp_path: Path) -> None:
    inputs = Inputs({"x": matrix()}, Labels({}), ROLES)
    outcome = run_system("retrieval", inputs, RetrievalConfig(features=("x",)))
    assert not outcome.scores
    assert "needs items with a class" in outcome.facts["skipped"]
    store.write_outcome(tmp_path, outcome.arrays, outcome.facts, outcome.scores)
    measured = evaluate("retrieval", store.read_scores(tmp_path), inputs.labels, EvaluationConfig())
    assert measured.metrics == {}
    page = build_report(
        Manifest(pd.DataFrame(columns=list(MANIFEST_COLUMNS))),
        inputs.labels,
        pd.DataFrame(columns=["what", "item_id", "source", "reason"]),
        ROLES,
        {},
        {"retrieval": SystemResult({}, measured, outcome.facts)},
        lambda item: None,
        ReportConfig(),
    )
    assert "Not run: retrieval needs items with a class" in page


def test_a_system_that_ranks_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = FeatureMatrix(matrix().ids[:0], ("x",), matrix().values[:0])

    class Idle:
        @staticmethod
        def run(inputs: Inputs, config: object) -> Outcome:
            return Outcome({}, {}, {"method": empty})

    monkeypatch.setattr(systems, "system", lambda name: Idle)
    with pytest.raises(DataError, match="ranked nothing"):
        run_system("idle", Inputs({}, Labels({}), ROLES), None)
