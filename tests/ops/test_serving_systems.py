"""Systems of images, fitted for real on tiny pictures, packed, and held to what their stage wrote.

All systems, with clips, are packed in `tests/test_whole_line.py`.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import fitted_project
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.cli import app
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.features.cache import FeatureCache
from mediarank.labels import Labels
from mediarank.ops.models.packing import pack, unpack
from mediarank.ops.models.promotion import compare
from mediarank.ops.models.promotion_config import PromotionConfig
from mediarank.ops.models.trial import TOLERANCE, difference
from mediarank.stages.base_models import fit_base_models
from mediarank.systems.annotation.fit import AnnotationConfig
from mediarank.systems.attributes.fit import AttributesConfig, KernelChoice
from mediarank.systems.concepts.fit import ConceptsConfig
from mediarank.systems.contract import Inputs
from mediarank.systems.registry import reporting, system
from mediarank.types import DataError

FEATURES = tuple(fitted_project.FAMILIES)
CONFIGS: dict[str, Any] = {
    "annotation": AnnotationConfig(features=FEATURES, methods=("jec",), folds=2),
    "attributes": AttributesConfig(kernels=tuple(KernelChoice(name) for name in FEATURES), folds=2, max_pairs=200),
    "concepts": ConceptsConfig(base_models=FEATURES, methods=("mean_fusion", "imbalanced_rankboost"), rounds=10),
    "retrieval": fitted_project.CONFIG,
}


def labelled(items: list[str]) -> Labels:
    """Warm and cold pictures, keywords after their kind, kinds in the order of their warmth."""
    kinds = [item.split("/")[1].split("_")[0] for item in items]
    warm = [kind == "fire" for kind in kinds]
    orderings = [("warm", "fire", 3.0), ("warm", "leaf", 2.0), ("warm", "sea", 1.0)]
    return Labels(
        {
            "classes": pd.DataFrame({"item": items, "class": kinds}),
            "keywords": pd.DataFrame(
                {"item": [*items, *items], "keyword": [*kinds, *("warm" if w else "cold" for w in warm)]}
            ),
            "concepts": pd.DataFrame({"item": items, "concept": "heat", "relevant": warm}),
            "orderings": pd.DataFrame(orderings, columns=["attribute", "target", "strength"]),
        }
    )


@pytest.fixture(scope="module")
def workspace(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fitted project with four systems in it."""
    root = tmp_path_factory.mktemp("systems") / "project"
    shutil.copytree(fitted, root)
    data = root / "data"
    matrices = {name: store.read_features(data / "features" / name) for name in FEATURES}
    roles = store.read_roles(data / "splits/roles.parquet")
    labels = labelled(matrices["lab"].ids.tolist())
    store.write_labels(data / "manifest/labels", labels)
    pools, scores = {}, {}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("MEDIARANK_JOBS", "1")
        for name, matrix in matrices.items():
            config = SVMConfig(penalties=(2.0,), widths=(1.0,))
            arrays, facts, scores[name] = fit_base_models(name, matrix, labels, roles, config)
            store.write_outcome(data / "base_models" / name, arrays, facts, {"normalised": scores[name]})
            pools[name] = SVMPool.from_arrays(arrays, facts)
        inputs = Inputs(matrices, labels, roles, pools, scores)
        for name, settings in CONFIGS.items():
            outcome = system(name).run(inputs, settings)
            store.write_outcome(data / "systems" / name, outcome.arrays, outcome.facts, outcome.scores)
            measured = reporting(name).measure(outcome.scores, labels, EvaluationConfig(resamples=10))
            found = (measured.metrics, measured.summary, measured.per_query, measured.curves)
            store.write_measured(data / "evaluation" / name, *found)
    return root


@pytest.mark.parametrize("name", CONFIGS)
def test_it_ranks_as_its_stage_did(workspace: Path, tmp_path: Path, name: str) -> None:
    cache = FeatureCache(workspace / ".mediarank/cache/features")
    pack(workspace / "data", name, fitted_project.PREPARATION, cache, tmp_path / "packed")
    packed = unpack(tmp_path / "packed")
    recorded = store.read_features(workspace / "data/systems" / name / "scores" / packed.served.method)
    upright = set(recorded.names) <= set(packed.served.names)
    assert upright == (name in ("annotation", "retrieval")), "concepts and attributes are ranked for items when served"
    asked = recorded.ids.tolist() if upright else list(recorded.names)
    ranked = list(recorded.names) if upright else recorded.ids.tolist()
    found = packed.rank_items(asked)[:, [packed.served.names.index(n) for n in ranked]]
    assert difference(np.asarray(recorded.values), found if upright else found.T) <= TOLERANCE
    # What promotion decides by is there, under the name that is usual for the system.
    config = PromotionConfig()
    compared = compare(tmp_path / "packed", tmp_path / "packed", config.metric_of(name), config)
    assert compared.queries > 0
    assert not compared.worse(config)


def test_a_concept_is_found(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    said = ask("find", "heat", "--count", "6")
    assert said.count("data/raw/media/images/fire") > 3, "what looks warm comes first"
    assert said.count("(labelled)") == said.count("images/fire")
    assert "imbalanced_rankboost of concepts" in said
    page = (workspace / "find.html").read_text()
    assert page.count("data:image/jpeg") == 6
    fresh = ask("find", "heat", "--count", "6", "--fresh", "--to", "fresh.html")
    assert fresh.count("data/raw/media/images/") == 6
    assert "images/fire" not in fresh
    assert (workspace / "fresh.html").exists()


def test_what_no_model_knows_is_said_with_what_they_know(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    with pytest.raises(DataError, match=r"'heart'; there are 1 names, such as heat\. events has no model: list it"):
        ask("find", "heart")


def ask(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception:
        raise result.exception
    return result.stdout
