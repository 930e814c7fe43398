"""Comparing and sorting by an attribute, over what the stages wrote, and the two commands as a user types them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.compare import Comparison, described, in_order, judge, open_model, order_page
from mediarank.cli import app
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.mfcc import MfccStatistics
from mediarank.labels import Labels
from mediarank.learners.kernels.attribute_model import AttributesModel
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.systems.attributes.fit import AttributesConfig, KernelChoice, run
from mediarank.systems.contract import Inputs
from mediarank.types import DataError, FeatureMatrix, Roles

FAMILY = ColourMoments()
IDS = [f"images/{k:02d}.png" for k in range(24)]
LIGHT = np.linspace(30, 220, len(IDS))
"""How bright each picture is: item 23 is the brightest."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a fitted model of one attribute, `brightness`, learned from the strengths of items."""
    rng = np.random.default_rng(0)
    pictures = [np.clip(light + rng.normal(0, 12, (16, 16, 3)), 0, 255).astype(np.uint8) for light in LIGHT]
    (tmp_path / "images").mkdir()
    for name, picture in zip(IDS, pictures, strict=True):
        cv2.imwrite(str(tmp_path / name), picture[..., ::-1])
    matrix = FeatureMatrix(np.array(IDS), FAMILY.names(), np.stack([FAMILY.extract(p) for p in pictures]))
    orderings = pd.DataFrame({"attribute": "brightness", "target": IDS, "strength": LIGHT})
    roles = [("base", "rank", "test")[k % 3] for k in range(24)]
    inputs = Inputs(
        {"moments": matrix},
        Labels({"orderings": orderings}),
        Roles(pd.DataFrame({"item_id": IDS, "group_id": IDS, "role": roles, "fold": 0})),
    )
    outcome = run(inputs, AttributesConfig(kernels=(KernelChoice("moments", "rbf"),), folds=3, baselines=False))
    data = tmp_path / "data"
    store.write_outcome(data / "systems/attributes", outcome.arrays, outcome.facts, outcome.scores)
    store.write_features(data / "features/moments", matrix)
    frames = pd.DataFrame({"frame_id": IDS, "item_id": IDS, "kind": "image", "index": 0, "path": IDS, "sha256": IDS})
    store.write_table(data / "frames/frames.parquet", frames)
    (data / "frames/media").symlink_to(tmp_path)
    (tmp_path / "params.yaml").write_text("features: {moments: {family: colour_moments}}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception:
        raise result.exception
    return result.stdout


def test_the_collection_in_order(workspace: Path) -> None:
    order = in_order(*open_model(workspace / "data", "brightness"), "brightness")
    assert order["place"].tolist() == list(range(1, 25))
    assert order["score"].is_monotonic_increasing
    assert set(order["item"]) == set(IDS)
    places = order.set_index("item")["place"]
    assert np.corrcoef(places[IDS], LIGHT)[0, 1] > 0.95


def test_equal_scores_stay_in_the_order_of_ids(workspace: Path) -> None:
    model, features = open_model(workspace / "data", "brightness")
    silent: AttributesModel = replace(model, coefficients=tuple(np.zeros_like(c) for c in model.coefficients))
    assert in_order(silent, features, "brightness")["item"].tolist() == IDS


def test_a_margin_is_the_difference_of_two_scores(workspace: Path) -> None:
    model, features = open_model(workspace / "data", "brightness")
    order = in_order(model, features, "brightness").set_index("item")["score"]
    answer = judge(model, features, "brightness", IDS[20], IDS[3])
    assert answer.margin == pytest.approx(order[IDS[20]] - order[IDS[3]], abs=1e-5)
    assert str(answer) == f"{IDS[20]} shows more brightness than {IDS[3]}"
    turned = judge(model, features, "brightness", IDS[3], IDS[20])
    assert (str(turned), turned.margin) == (str(answer), -answer.margin)
    assert str(Comparison("open", "a", "b", 0.0)) == "a and b show open equally"


def test_a_file_is_described_like_an_item(workspace: Path) -> None:
    _, matrices = open_model(workspace / "data", "brightness")
    path = str(workspace / IDS[5])
    made = []

    def families() -> dict[str, ColourMoments]:
        made.append(1)
        return {"moments": FAMILY}

    found = described([IDS[5], path, path], matrices, families, FramesConfig(), Limits())["moments"]
    assert found.ids.tolist() == [IDS[5], path]
    np.testing.assert_array_equal(found.values[0], found.values[1])
    assert made == [1]
    described([IDS[5], IDS[6]], matrices, families, FramesConfig(), Limits())
    assert made == [1], "items of the collection need no extractor"
    with pytest.raises(DataError, match="neither an item of the collection nor a file"):
        described([IDS[5], "images/99.png"], matrices, families, FramesConfig(), Limits())
    with pytest.raises(DataError, match="describes a sound"):
        described([path], matrices, lambda: {"moments": MfccStatistics()}, FramesConfig(), Limits())


def test_a_page_shows_both_ends_and_even_steps_between(workspace: Path) -> None:
    order = in_order(*open_model(workspace / "data", "brightness"), "brightness")
    shown: list[str] = []

    def thumbnail(item: str) -> None:
        shown.append(item)

    page = order_page("brightness <b>", order, thumbnail, 4)
    assert shown == order["item"].iloc[[0, 8, 15, 23]].tolist()
    assert "brightness &lt;b&gt;" in page
    assert "even steps" in page
    assert "Every item" in order_page("brightness", order, thumbnail, 100)


def test_compare_answers_with_the_margin(workspace: Path) -> None:
    (workspace / "mine.png").write_bytes((workspace / IDS[22]).read_bytes())
    said = ask("compare", "mine.png", f"data/raw/media/{IDS[2]}", "--attribute", "brightness")
    inside = ask("compare", IDS[22], IDS[2], "--attribute", "brightness")
    assert said.splitlines()[0] == f"mine.png shows more brightness than {IDS[2]}"
    assert said.splitlines()[1] == inside.splitlines()[1], "a copy from outside is as bright as the original"
    assert float(said.splitlines()[1].split()[1]) > 0


def test_sort_writes_a_table_and_a_page(workspace: Path) -> None:
    said = ask("sort", "--attribute", "brightness", "--count", "6", "--to", "bright.csv")
    assert "24 items" in said
    table = pd.read_csv(workspace / "bright.csv")
    assert list(table.columns) == ["place", "item", "score"]
    assert set(table["item"].iloc[:6]) <= set(IDS[:9])
    assert (workspace / "bright.html").read_text().count("data:image/jpeg") == 6


def test_what_is_not_there_is_said(workspace: Path) -> None:
    with pytest.raises(DataError, match="there are brightness"):
        ask("sort", "--attribute", "openness")
    with pytest.raises(DataError, match="neither an item of the collection nor a file"):
        ask("compare", IDS[0], "images/99.png", "--attribute", "brightness")
    store.write_json(workspace / "data/systems/attributes/model.json", {"skipped": "no orderings"})
    with pytest.raises(DataError, match="No attribute was learned: no orderings"):
        ask("sort", "--attribute", "brightness")
    (workspace / "data/systems/attributes/model.json").unlink()
    with pytest.raises(DataError, match="run dvc repro"):
        ask("sort", "--attribute", "brightness")
