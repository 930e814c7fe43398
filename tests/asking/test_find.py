"""Finding by name: one name costs one name, and a cascade really skips evaluations."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.find import find
from mediarank.asking.workspace import Workspace
from mediarank.cli import app
from mediarank.types import ConfigError, DataError


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


@pytest.mark.parametrize("method", ["mean_fusion", "imbalanced_rankboost", "forward_cascade"])
def test_every_fitted_method_finds(space: Workspace, method: str) -> None:
    finds = find(space, "heat", 8, method=method)
    assert finds.method == method
    assert sum("fire" in found.item for found in finds.best) > 5
    assert [found.score for found in finds.best] == sorted((found.score for found in finds.best), reverse=True)
    assert 0 < finds.evaluations <= finds.possible
    assert (finds.evaluations < finds.possible) or method != "forward_cascade", "a cascade skips"


def test_a_name_is_matched_ignoring_case_and_near_misses_get_a_hint(space: Workspace) -> None:
    assert find(space, "HEAT", 3).name == "heat"
    with pytest.raises(DataError, match="Did you mean heat"):
        find(space, "heart", 3)
    with pytest.raises(ConfigError, match="mean_fusion"):
        find(space, "heat", 3, method="magic")


def test_only_that_concepts_models_are_read(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    one = store._Arrays.__getitem__

    def noted(self: store._Arrays, name: str) -> object:
        read.append(name)
        return one(self, name)

    monkeypatch.setattr(store._Arrays, "__getitem__", noted)
    find(space, "heat", 3)
    everything = {
        name for kind in space.pools for name in store.open_arrays(space.data / f"base_models/{kind}/model.npz")
    }
    assert set(read) & everything, "some arrays of the pools were read"
    assert everything - set(read), "and some were not"


def test_the_command_says_what_it_cost(project: Path) -> None:
    said = ask("find", "heat", "--count", "6")
    assert said.count("  images/fire") > 3, "what looks warm comes first"
    assert said.count("(labelled)") == said.count("images/fire")
    assert "evaluations" in said
    page = (project / "find.html").read_text()
    assert page.count("data:image/jpeg") == 6
    assert "evaluations" in page
    fresh = ask("find", "heat", "--count", "6", "--fresh", "--to", "fresh.html")
    assert fresh.count("  images/") == 6
    assert "images/fire" not in fresh


def test_without_a_model_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"params\.yaml"):
        find(Workspace(tmp_path, lambda: None), "heat", 3)  # type: ignore[arg-type, return-value]
