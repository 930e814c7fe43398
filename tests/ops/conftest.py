"""A small fitted project, for commands that work on what the stages wrote, and one with two committed versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import fitted_project
import numpy as np
import pandas as pd
import pytest
import versioned_project

from mediarank import store
from mediarank.features.colour_moments import ColourMoments
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval import fit as retrieval
from mediarank.systems.retrieval.fit import RetrievalConfig
from mediarank.types import FeatureMatrix, Roles

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


@pytest.fixture(scope="session")
def versioned_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project, `project`, and of its remote, `remote`."""
    folder = tmp_path_factory.mktemp("versions")
    versioned_project.make(folder / "project", folder / "remote")
    return folder


@pytest.fixture
def versioned(versioned_template: Path, tmp_path: Path) -> Path:
    """A project with the versions v1 and v2, in the latter; its remote is the folder `remote` beside it."""
    folder = tmp_path / "versioned"
    shutil.copytree(versioned_template, folder, symlinks=True)
    versioned_project.dvc(
        folder / "project", "remote", "modify", "--quiet", "--local", "store", "url", str(folder / "remote")
    )
    return folder / "project"


@pytest.fixture
def clone(versioned: Path) -> Path:
    """A clone of the project: git's part and the remote's address, no data."""
    target = versioned.parent / "clone"
    versioned_project.git(versioned.parent, "clone", "--quiet", str(versioned), str(target))
    versioned_project.dvc(
        target, "remote", "modify", "--quiet", "--local", "store", "url", str(versioned.parent / "remote")
    )
    return target


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace after a whole run; not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDIARANK_JOBS", "1")  # starting processes would take longer than the work
        return fitted_project.make(tmp_path_factory.mktemp("fitted"))


@pytest.fixture(scope="session")
def tracked(versioned_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with both of its versions recorded in MLflow; only for looking at."""
    from mediarank.ops.runs.tracking import track
    from mediarank.ops.versions.rollback import rollback

    folder = tmp_path_factory.mktemp("tracked") / "versioned"
    shutil.copytree(versioned_template, folder, symlinks=True)
    root, uri = folder / "project", "sqlite:///mlflow.db"
    track(root, uri)
    left = rollback(root, "v1").left
    track(root, uri)
    rollback(root, left)
    return root
