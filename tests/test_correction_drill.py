"""A correction is a version: a run with it, its comparison with the run before, its lineage, and going back."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from whole_project import IMAGE_FEATURES, call, change_params, fresh_project, git

from mediarank import store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def mediarank(project: Path, *words: str) -> str:
    return call(project, sys.executable, "-m", "mediarank", *words, jobs=2)


def commit(project: Path, words: str) -> str:
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", words)
    return git(project, "rev-parse", "HEAD").strip()


def keep_concepts(project: Path) -> None:
    """One system on two feature types of pictures is enough here."""
    params = yaml.safe_load((project / "params.yaml").read_text())
    change_params(project, "collection", "demo", {"images": 96, "clips": 8, "seed": 3})
    for section in ("features", "base_models"):
        change_params(project, section, None, {n: v for n, v in params[section].items() if n in IMAGE_FEATURES})
    change_params(project, "systems", None, {"concepts": params["systems"]["concepts"]})
    mediarank(project, "wire")
    commit(project, "concepts only")


def relevant(project: Path, concept: str) -> set[str]:
    table = store.read_labels(project / "data/manifest/labels")["concepts"]
    return set(table.loc[(table["concept"] == concept) & table["relevant"].astype(bool), "item"])


def test_a_run_its_comparison_and_its_rollback_with_and_without_a_correction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    project = fresh_project(tmp_path / "project")
    keep_concepts(project)
    mediarank(project, "run")
    plain = commit(project, "without a correction")
    lock = (project / "dvc.lock").read_text()
    shown = relevant(project, "boat")
    test_items = set(store.read_roles(project / "data/splits/roles.parquet").items("test"))
    wrong = sorted(shown & test_items)[:2]
    mediarank(project, "label", "add", "--name", "boat", "--no", *wrong)
    mediarank(project, "run")
    corrected = commit(project, "with a correction")
    assert relevant(project, "boat") == shown - set(wrong)
    said = pd.read_csv(project / "data/manifest/statements.csv")
    assert said[["item", "author", "effect"]].to_numpy().tolist() == [[item, "ada", "changes"] for item in wrong]
    stages = yaml.safe_load(lock)["stages"], yaml.safe_load((project / "dvc.lock").read_text())["stages"]
    ran = {name for name in stages[0] if stages[0][name] != stages[1][name]}
    assert {"manifest", "systems-concepts", "evaluation-concepts", "report"} <= ran
    assert not [name for name in ran if name.startswith("features-")], "pictures are described once"

    compared = mediarank(project, "compare-runs", plain[:9], corrected[:9])
    print(compared)
    assert "concepts +2 -2" in compared
    assert "params  unchanged" in compared
    assert "concepts" in compared

    mediarank(project, "rollback", plain)
    assert (project / "dvc.lock").read_text() == lock
    assert relevant(project, "boat") == shown
    assert wrong[0] not in mediarank(project, "label", "list")
    assert "up to date" in call(project, "dvc", "status")
    mediarank(project, "rollback", corrected)
    assert relevant(project, "boat") == shown - set(wrong)
    assert wrong[0] in mediarank(project, "label", "list")
