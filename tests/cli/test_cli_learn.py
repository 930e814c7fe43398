"""`mediarank learn` and `mediarank review` on a small project whose features show the labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_statements import made_labels, made_manifest
from typer.testing import CliRunner

from mediarank import store
from mediarank.cli import app
from mediarank.teaching.learning import Trials, version_of
from mediarank.types import DataError, FeatureMatrix

ITEMS = [f"i{k:03d}.jpg" for k in range(120)]
BOATS, DOGS = ITEMS[:15], ITEMS[15:30]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    store.write_manifest(tmp_path / "data/manifest/manifest.parquet", made_manifest(ITEMS))
    concepts = [(item, "boat", item in BOATS[:10]) for item in [*BOATS[:10], ITEMS[60]]]
    labels = made_labels(
        concepts=concepts,
        classes=[(item, "odd" if k % 2 else "even") for k, item in enumerate(ITEMS)],
        orderings=[("open", "odd", 1.0), ("open", "even", 2.0)],
    )
    for name in ("labels", "source_labels"):
        store.write_labels(tmp_path / "data/manifest" / name, labels)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(len(ITEMS), 10))
    values[:15, 0] += 4
    values[15:30, 1] += 4
    values[::2, 2] += 4
    matrix = FeatureMatrix(np.array(ITEMS), tuple(f"c{k}" for k in range(10)), values.astype(np.float32))
    store.write_features(tmp_path / "data/features/network", matrix)
    frames = pd.DataFrame({"item_id": ITEMS, "phash": [f"{rng.integers(2**60):016x}" for _ in ITEMS]})
    frames.loc[1, "phash"] = frames.loc[40, "phash"]
    store.write_table(tmp_path / "data/frames/frames.parquet", frames)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def items_in(output: str) -> list[str]:
    return [word for word in output.split() if word.endswith(".jpg")]


def test_a_new_name_is_learned_from_five_positives(project: Path) -> None:
    run("label", "add", "--name", "dog", "--yes", *DOGS[:5])
    output = run("learn", "dog")
    assert "TRIAL" in output
    assert "a new name" in output
    assert len(set(items_in(output)[:15]) & set(DOGS)) >= 10
    facts = Trials(project / ".mediarank/trials").facts(version_of(project / "data"))
    assert [(f["name"], f["kind"], f["positives"]) for f in facts] == [("dog", "concept", 5)]


def test_what_is_said_changes_what_is_found(project: Path) -> None:
    before = run("learn", "boat", "--count", "15")
    assert "0 of the first 15 changed" in before
    run("label", "add", "--name", "boat", "--yes", *BOATS[10:], "--no", *DOGS[:3])
    after = run("learn", "boat", "--count", "15")
    assert len(set(items_in(after)) & set(BOATS)) >= len(set(items_in(before)) & set(BOATS))
    assert "15 yes, 4 no" in after


def test_a_trial_ends_with_the_next_run(project: Path) -> None:
    run("learn", "boat")
    trials, version = Trials(project / ".mediarank/trials"), version_of(project / "data")
    scores, chances = trials.scores("concept", "boat", version) or ({}, {})
    assert max(scores, key=lambda item: scores[item]) in BOATS
    assert all(0 <= p <= 1 for p in chances.values())
    store.write_labels(project / "data/manifest/labels", made_labels(concepts=[(ITEMS[0], "boat", True)]))
    assert trials.scores("concept", "boat", version_of(project / "data")) is None
    assert list(trials.folder.iterdir()) == []


def test_attributes_are_learned_from_orderings_and_pairs(project: Path) -> None:
    output = run("learn", "open")
    assert "pairs in the right order" in output
    assert np.mean([int(item[1:4]) % 2 == 0 for item in items_in(output)]) > 0.8


def test_an_unknown_name_says_how_to_begin(project: Path) -> None:
    with pytest.raises(DataError, match="label add"):
        run("learn", "zebra")


def test_what_to_label_next(project: Path) -> None:
    output = run("review", "boat", "--count", "8")
    assert "probability" in output
    queue = items_in(output)
    assert len(queue) == 8
    assert not set(queue) & {*BOATS[:10], ITEMS[60]}
    assert set(queue) & set(BOATS[10:]), "an unlabelled boat is asked about"
    assert len(items_in(run("review", "--count", "5"))) == 5


def test_errors_and_duplicates(project: Path) -> None:
    run("label", "add", "--name", "boat", "--no", ITEMS[40])
    output = run("review", "--duplicates")
    assert items_in(output)[0] == ITEMS[40]
    assert "looks the same as" in output
    assert "entries" in run("review", "--errors", "--count", "5")
