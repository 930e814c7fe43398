"""Keywords for files and items, over what the stages wrote, and the command as a user types it."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.annotate import annotate, open_annotator
from mediarank.cli import annotation  # noqa: F401 - its command
from mediarank.cli.app import app
from mediarank.features.colour_moments import ColourMoments
from mediarank.labels import Labels
from mediarank.systems.annotation.fit import AnnotationConfig, run
from mediarank.systems.contract import Inputs
from mediarank.types import ConfigError, DataError, FeatureMatrix, Roles

FAMILY = ColourMoments()
IDS = [f"images/{k:02d}.png" for k in range(40)]
COLOURS = {"sea": (30, 60, 200), "forest": (30, 160, 40), "sunset": (220, 90, 30), "snow": (235, 235, 240)}
WORD_OF = dict(zip(IDS, list(COLOURS) * 10, strict=True))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a fitted model: pictures of four colours, each with its word and `picture`."""
    folder = tmp_path_factory.mktemp("annotated")
    rng = np.random.default_rng(0)
    (folder / "images").mkdir()
    rows = []
    for item, word in WORD_OF.items():
        picture = np.clip(COLOURS[word] + rng.normal(0, 20, (16, 16, 3)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(folder / item), picture[..., ::-1])
        rows.append(FAMILY.extract(picture))
    matrix = FeatureMatrix(np.array(IDS), FAMILY.names(), np.stack(rows))
    keywords = [(item, word) for item, own in WORD_OF.items() for word in (own, "picture")]
    role = [("base", "base", "base", "base", "test")[k % 5] for k in range(40)]
    inputs = Inputs(
        {"moments": matrix},
        Labels({"keywords": pd.DataFrame(keywords, columns=["item", "keyword"])}),
        Roles(pd.DataFrame({"item_id": IDS, "group_id": IDS, "role": role, "fold": 0})),
    )
    config = AnnotationConfig(("moments",), methods=("jec", "rnn"), folds=2, pairs=(10,), rounds=(5,))
    outcome = run(inputs, config)
    data = folder / "data"
    store.write_outcome(data / "systems/annotation", outcome.arrays, outcome.facts, outcome.scores)
    store.write_features(data / "features/moments", matrix)
    (folder / "params.yaml").write_text("features: {moments: {family: colour_moments}}")
    return folder


def ask(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception:
        raise result.exception
    return result.stdout


def test_the_best_words_of_each_picture(project: Path) -> None:
    served, matrices = open_annotator(project / "data")
    pictures = {"moments": FeatureMatrix(np.array(IDS[4:6]), FAMILY.names(), matrices["moments"].rows(IDS[4:6]))}
    table = annotate(served, pictures, 2)
    assert table["query"].tolist() == [IDS[4], IDS[4], IDS[5], IDS[5]]
    assert table["rank"].tolist() == [1, 2, 1, 2]
    for item, found in table.groupby("query"):
        assert WORD_OF[str(item)] in set(found["name"])
        assert found["score"].is_monotonic_decreasing


def test_the_command_takes_files_and_items(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "mine.png").write_bytes((project / IDS[1]).read_bytes())
    said = ask("annotate", "mine.png", f"data/raw/media/{IDS[2]}", "--words", "2", "--to", "words.csv")
    lines = said.splitlines()
    assert lines[0] == "mine.png"
    assert lines[3] == IDS[2]
    table = store.read_csv(project / "words.csv", ("image", "keyword", "score"))
    assert len(table) == 4
    assert WORD_OF[IDS[1]] in set(table.loc[table["image"] == "mine.png", "keyword"])
    assert all(word in said for word in table["keyword"])


def test_a_method_can_be_asked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert IDS[0] in ask("annotate", IDS[0], "--method", "rnn")
    with pytest.raises(ConfigError, match="it has jec, rnn"):
        ask("annotate", IDS[0], "--method", "tagprop")
    with pytest.raises(DataError, match="neither an item"):
        ask("annotate", "nowhere.png")


def test_without_a_model_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run dvc repro"):
        open_annotator(tmp_path)
    store.write_json(tmp_path / "systems/annotation/model.json", {"skipped": "there are no keywords"})
    with pytest.raises(DataError, match="there are no keywords"):
        open_annotator(tmp_path)
