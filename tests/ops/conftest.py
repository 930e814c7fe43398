"""A small fitted project, for commands that work on what the stages wrote."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.features.colour_moments import ColourMoments
from mediarank.systems import retrieval
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval import RetrievalConfig
from mediarank.types import FeatureMatrix, Labels, Roles

FAMILY = ColourMoments()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fitted system over 24 plain pictures of three colours."""
    rng = np.random.default_rng(0)
    ids = np.array([f"images/{k:02d}.png" for k in range(24)])
    colours = rng.integers(40, 200, size=(3, 3))
    pictures = [np.clip(colours[k % 3] + rng.normal(0, 30, (16, 16, 3)), 0, 255).astype(np.uint8) for k in range(24)]
    for name, picture in zip(ids, pictures, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), picture[..., ::-1])
    matrix = FeatureMatrix(ids, FAMILY.names(), np.stack([FAMILY.extract(picture) for picture in pictures]))
    roles = [("base", "rank", "valid", "test")[(k // 3) % 4] for k in range(24)]
    inputs = Inputs(
        {"moments": matrix},
        Labels({"classes": pd.DataFrame({"item": ids, "class": [str(k % 3) for k in range(24)]})}),
        Roles(pd.DataFrame({"item_id": ids, "group_id": ids, "role": roles, "fold": 0})),
    )
    config = RetrievalConfig(features=("moments",), methods=("uni_con", "arow"), scaling_pairs=100, instances=200)
    outcome = retrieval.run(inputs, config)
    store.write_outcome(tmp_path / "data/systems/retrieval", outcome.arrays, outcome.facts, outcome.scores)
    store.write_features(tmp_path / "data/features/moments", matrix)
    return tmp_path
