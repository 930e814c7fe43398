"""The retrieval benchmark on drawn pictures: its JSON, published columns, and collections that name their queries."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from retrieval import PUBLISHED, ROWS
from retrieval_protocol import Protocol, deal_folds, prepare
from retrieval_types import describe

from mediarank.systems.retrieval.collection import Collection

CLUTTER = "BACKGROUND_Google"
METHODS = ("best_fea", "uni_con", "lambdamart", "opar2")


def picture(path: Path, rng: np.random.Generator, topic: int) -> None:
    """Stripes whose width and colour tell the topic."""
    path.parent.mkdir(parents=True, exist_ok=True)
    x = np.arange(64)[None, :, None] + rng.integers(0, 8)
    colour = np.array([40 + 40 * topic, 200 - 35 * topic, 120])[None, None]
    stripes = np.where((x // (2 + 2 * topic)) % 2, colour, 255 - colour) + rng.normal(0, 60, (48, 64, 3))
    Image.fromarray(stripes.clip(0, 255).astype(np.uint8)).save(path, quality=90)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five classes and clutter in the layout of Caltech 101."""
    folder = tmp_path_factory.mktemp("objects")
    rng = np.random.default_rng(0)
    for topic, name in enumerate(("ant", "boat", "chair", "drum", "elk")):
        for number in range(15):
            picture(folder / f"101_ObjectCategories/{name}/image_{number:04d}.jpg", rng, topic)
    for number in range(12):
        picture(folder / f"101_ObjectCategories/{CLUTTER}/image_{number:04d}.jpg", rng, number % 5)
    return folder


def run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints before its last line, and its JSON."""
    small = ["--folds", "1", "--instances", "400", "--large-instances", "600", "--distractors", "300"]
    places = ["--data", str(folder), "--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out")]
    arguments = [*places, *small, "--online-queries", "8", "--methods", *METHODS, *more]
    monkeypatch.setattr("sys.argv", ["retrieval.py", *arguments])
    import_module("retrieval").main()
    printed, _, last = capsys.readouterr().out.strip().rpartition("\n")
    return printed, json.loads(last)


def test_every_part_reports_and_clutter_is_neither_asked_nor_learned_from(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    types = ["lab", "moments_layout", "edges", "network"]
    printed, found = run(objects, tmp_path, monkeypatch, capsys, "--types", *types)
    assert {"lambdamart", "learned_similarity", "network", "all", "best"} <= set(found["map"])
    assert set(found["held_out_classes"]) == {"learned_similarity", "network", "all"}
    assert set(found["held_out_classes"]["network"]) >= {"uni_con", "opar2", "posteriors", "blend", "served"}
    assert set(found["large"]) == {"plain", "distractors"}
    assert found["shortlist_recall"]["opar2"] == 1.0
    assert found["online_ndcg50"]["opar2"] > 0
    assert set(found["tried"]) >= {"opar2", "hard 50%", "local 100%", "expansion by 5"}
    assert f"{PUBLISHED['caltech101']['lambdamart']:.4f}" in printed
    assert f"{PUBLISHED['corel5k']['lambdamart']:.4f}" not in printed
    for kept in (tmp_path / "out").glob("*-*.json"):
        assert not [query for query in json.loads(kept.read_text())["queries"] if query.startswith(CLUTTER)]

    described = describe(objects, tmp_path / "cache", Protocol().seed, ["lab"])
    rows = (described.matrices["lab"].rows(sorted(described.classes)),)
    collection = Collection(tuple(sorted(described.classes)), described.classes, rows)
    fold_of = deal_folds(collection.items, described.classes, 1)
    prepared = prepare(collection, fold_of, 0, Protocol(), described.reserved, described.clutter)
    assert len(described.clutter) == 12
    assert not described.clutter & {*prepared.training, *prepared.validation.queries, *prepared.test}
    assert described.clutter & set(prepared.validation.items), "it is ranked"


def test_a_collection_without_published_figures_and_a_sample_show_none(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same pictures as a plain folder, and as a sample of Caltech 101."""
    plain = tmp_path / "plain"
    for name in ("ant", "boat", "chair"):
        shutil.copytree(objects / "101_ObjectCategories" / name, plain / name)
    figures = [f"{value:.4f}" for column in PUBLISHED.values() for value in column.values()]
    for folder, more in ((plain, []), (objects, ["--per-class", "12"])):
        out = tmp_path / str(len(more))
        arguments = ["--parts", "paper", "--types", "lab", "edges", *more]
        printed, found = run(folder, out, monkeypatch, capsys, *arguments)
        assert found["map"]["opar2"] > 0
        lines = [line for line in printed.splitlines() if "lambdamart" in line]
        assert lines
        assert not any(figure in line.split() for line in lines for figure in figures)
        assert lines[0].split()[-3] == "-"


def test_only_the_named_queries_of_holidays_are_asked(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(60):
        picture(tmp_path / f"holidays/{100000 + 100 * (number // 3) + number % 3}.jpg", rng, number % 5)
    described = describe(tmp_path / "holidays", tmp_path / "cache", 0, ["lab"])
    assert described.source == "holidays"
    firsts = {f"{100000 + 100 * group}.jpg" for group in range(20)}
    assert set(described.classes) - described.reserved <= firsts
    assert not described.clutter, "every group has a query"
    assert len(set(described.classes) - described.reserved) > 8


def test_the_published_columns_are_those_of_table_2() -> None:
    assert set(PUBLISHED) == {"corel5k", "caltech101", "holidays"}
    assert {len(column) for column in PUBLISHED.values()} == {len(ROWS)}
    best = {source: max(column, key=lambda row: column[row]) for source, column in PUBLISHED.items()}
    assert best == {"corel5k": "lambdamart", "caltech101": "lambdamart", "holidays": "ranksvm"}
