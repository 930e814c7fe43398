"""A fitted workspace, opened by the explorer, and a client that speaks to it as a browser on this machine would."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import fitted_project
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from mediarank import store
from mediarank.explorer.app import create_app
from mediarank.explorer.doors import Doors

NAME = "fire_<img src=x onerror=alert(1)>.png"
HOSTILE = f"images/{NAME}"
"""An item whose file name would run as script if it were not escaped."""
GONE = f"images/gone_{NAME}"
"""Another, in quarantine, of which nothing is left."""


@pytest.fixture(scope="session")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a project with four fitted systems; not to be changed."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("MEDIARANK_JOBS", "1")  # starting processes would take longer than the work
        root = fitted_project.make(tmp_path_factory.mktemp("explored"), named={9: NAME})
        fitted_project.add_systems(root)
    rows = [("file", GONE, GONE, "truncated <b>")]
    table = pd.DataFrame(rows, columns=["what", "item_id", "source", "reason"])
    store.write_text(root / "data/report/report.html", "<!doctype html><title>The report</title>")
    for stage in ("manifest", "frames"):
        store.write_csv(root / f"data/{stage}/quarantine.csv", table)
    return root


@pytest.fixture
def project(explored: Path, tmp_path: Path) -> Path:
    """A copy of the project to write in."""
    root = tmp_path / "project"
    shutil.copytree(explored, root)
    return root


@pytest.fixture(autouse=True)
def _author(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")


@pytest.fixture
def doors() -> Doors:
    return Doors("127.0.0.1", 8765)


@pytest.fixture
def teaching(project: Path, doors: Doors) -> Iterator[TestClient]:
    """A client of a project that may be written to."""
    app = create_app(project, doors, lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as found:
        yield found


@pytest.fixture
def client(explored: Path, doors: Doors) -> Iterator[TestClient]:
    app = create_app(explored, doors, lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://127.0.0.1:8765") as found:
        yield found
