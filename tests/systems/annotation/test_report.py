"""Annotation measured and shown: figures by hand, words outside the vocabulary, and the section's parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.blocks import Gallery, Table
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.evaluation.report import Report, render
from mediarank.labels import Labels
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.report import images_gallery, measure, section
from mediarank.systems.results import SystemResult
from mediarank.types import DataError, FeatureMatrix

WORDS = tuple("abcdefgh")
ITEMS = ("x/1.jpg", "x/2.jpg", "x/3.jpg")
LABELS = Labels(
    {
        "keywords": pd.DataFrame(
            [
                ("x/1.jpg", "a"),
                ("x/1.jpg", "b"),
                ("x/2.jpg", "a"),
                ("x/3.jpg", "h"),
                ("x/3.jpg", "unknown"),
                ("y", "c"),
            ],
            columns=["item", "keyword"],
        )
    }
)


def scores(right: bool) -> FeatureMatrix:
    """Suggests a to e for every image; or, if not right, d to h."""
    row = np.arange(8, 0, -1.0) if right else np.arange(8.0)
    return FeatureMatrix(np.array(ITEMS), WORDS, np.tile(row, (3, 1)).astype(np.float32))


def test_figures_by_hand() -> None:
    measured = measure({"m": scores(True)}, LABELS, EvaluationConfig(resamples=50))
    table = measured.per_query.set_index("query")
    assert table.index.tolist() == ["a", "b", "h"], "known words that test images have"
    assert table["relevant"].tolist() == [2, 1, 1]
    assert table["predicted"].tolist() == [3, 3, 0]
    assert table["precision"].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    assert table["recall"].tolist() == [1, 1, 0]
    found = measured.metrics["m"]
    assert (found["precision"], found["recall"], found["n_plus"]) == pytest.approx((1 / 3, 2 / 3, 2))
    assert found["f1"] == pytest.approx(4 / 9)


def test_more_words_never_lower_recall() -> None:
    curves = measure({"m": scores(True)}, LABELS, EvaluationConfig(resamples=5)).curves
    assert curves["words"].tolist() == list(range(1, 9))
    assert curves["recall"].is_monotonic_increasing
    assert curves["recall"].iloc[-1] == 1


def test_images_without_words_count_as_suggested_wrongly() -> None:
    ids = np.array([*ITEMS, "x/4.jpg"])
    wider = FeatureMatrix(ids, WORDS, np.tile(np.arange(8, 0, -1.0), (4, 1)).astype(np.float32))
    assert words_of(LABELS, ids.tolist())["x/4.jpg"] == set()
    table = measure({"m": wider}, LABELS, EvaluationConfig(resamples=5)).per_query.set_index("query")
    assert table.loc["a", "precision"] == pytest.approx(2 / 4)


def test_nothing_in_common_is_refused() -> None:
    other = FeatureMatrix(np.array(ITEMS), ("z",), np.ones((3, 1), np.float32))
    with pytest.raises(DataError, match="nothing to measure"):
        measure({"m": other}, LABELS, EvaluationConfig())


def test_the_section_shows_all_of_it() -> None:
    both = {"good": scores(True), "<bad>": scores(False)}
    measured = measure(both, LABELS, EvaluationConfig(resamples=20))
    figures = {"effect_of_k": [{"k": k, "precision": 0.1, "recall": 0.2, "f1": 0.13, "n_plus": 3} for k in (5, 50)]}
    result = SystemResult(both, measured, LABELS, {"served": "good"}, figures)
    found = section(result, lambda _: None, 4)
    assert next(fact.value for fact in found.facts) == "good"
    headings = [block.heading for block in found.blocks[1:]]
    assert headings == ["Images and their words", "Words", "Methods", "More or fewer words", "Figures of the paper"]
    words = found.blocks[2]
    assert isinstance(words, Table)
    assert [row[0] for row in words.rows] == ["a", "b", "h"], "frequent words first"
    page = render(Report("x", (), [found]))
    assert "&lt;bad&gt;" in page
    plain = section(replace(result, figures={}), lambda _: None, 4)
    assert "Effect of k" in page
    assert "Figures of the paper" not in [block.heading for block in plain.blocks[1:]]


def test_images_are_shown_with_right_wrong_and_missing_words() -> None:
    gallery = images_gallery(scores(True), words_of(LABELS, ITEMS), lambda _: None, 1)
    assert isinstance(gallery, Gallery)
    best, usual, worst = gallery.rows
    assert [row.tiles[0].title for row in (best, usual, worst)] == ["x/1.jpg", "x/2.jpg", "x/3.jpg"]
    assert [(chip.text, chip.tone) for chip in best.tiles[0].chips] == [
        ("a", "good"), ("b", "good"), ("c", "bad"), ("d", "bad"), ("e", "bad"),
    ]  # fmt: skip
    assert [chip.text for chip in worst.tiles[0].chips if not chip.tone] == ["h", "unknown"]
