"""A workspace with four fitted systems, for the tests that ask them."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import fitted_project
import pytest

from mediarank.asking.workspace import Workspace


@pytest.fixture(scope="session")
def fitted_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a project; not to be changed."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("MEDIARANK_JOBS", "1")  # starting processes would take longer than the work
        root = fitted_project.make(tmp_path_factory.mktemp("asked"))
        fitted_project.add_systems(root)
    return root


@pytest.fixture
def space(fitted_all: Path) -> Workspace:
    return Workspace(fitted_all / "data", lambda: fitted_project.COPYING)


@pytest.fixture
def project(fitted_all: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project to work in, as the current folder."""
    root = tmp_path / "project"
    shutil.copytree(fitted_all, root)
    monkeypatch.chdir(root)
    return root
