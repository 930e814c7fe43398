"""A small fitted project, and one with two committed versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import fitted_project
import pytest
import versioned_project


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
