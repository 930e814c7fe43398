"""What `mediarank run` proposes at its end works on the collection that was run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mediarank.cli.running import next_steps

ROOT = Path(__file__).parents[2]


@pytest.fixture
def steps(project: Path) -> Path:
    (project / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    return project


def commands() -> list[str]:
    return [command for command, _ in next_steps()]


def test_a_concept_of_the_collection_is_named(steps: Path) -> None:
    assert "bin/mediarank find heat" in commands()
    assert "bin/mediarank init ~/Pictures" in commands()


def test_without_labels_a_search_is_proposed_and_own_pictures_are_not(steps: Path) -> None:
    params = (steps / "params.yaml").read_text()
    (steps / "params.yaml").write_text(params.replace("source: demo", "source: auto", 1))
    facts = steps / "data/systems/concepts/model.json"
    facts.unlink()
    found = commands()
    assert found[1].startswith("bin/mediarank search images/")
    assert "bin/mediarank init ~/Pictures" not in found
