"""How attributes are measured and shown: figures by hand, and the section's parts."""

from __future__ import annotations

import doctest
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_attributes import CONFIG, collection

from mediarank.evaluation.blocks import Gallery
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.learners.pairwise.supervision import supervise
from mediarank.systems.attributes import config as attributes_config
from mediarank.systems.attributes import report as attributes_report
from mediarank.systems.attributes.fit import fit
from mediarank.systems.attributes.report import equal_separation, measure, pairs_in_order, section, weights_table
from mediarank.systems.results import SystemResult
from mediarank.types import FeatureMatrix


def test_accuracy_by_hand() -> None:
    labels = Labels(
        {"orderings": pd.DataFrame([("open", k, s) for k, s in zip("abc", (3.0, 2.0, 1.0), strict=True)],
                                   columns=["attribute", "target", "strength"])}
    )  # fmt: skip
    scores = FeatureMatrix(np.array(["a", "b", "c"]), ("open",), np.float32([[5], [1], [2]]))  # b and c are exchanged
    measured = measure({"m": scores}, labels, EvaluationConfig(resamples=5))
    assert measured.metrics["m"]["accuracy"] == pytest.approx(2 / 3)


def test_the_section_shows_items_from_weakest_to_strongest() -> None:
    inputs = collection()
    fitted = fit(inputs, CONFIG)
    _, facts = fitted.model.to_arrays()
    measured = measure(fitted.scores, inputs.labels, EvaluationConfig(resamples=50))
    result = SystemResult(fitted.scores, measured, inputs.labels, facts, fitted.figures)
    page = section(result, lambda item: None, 5)
    gallery = page.blocks[1]
    assert isinstance(gallery, Gallery)
    assert [row.title for row in gallery.rows] == ["green", "open"]
    weakest, strongest = gallery.rows[1].tiles[0], gallery.rows[1].tiles[-1]
    best = fitted.scores[page.facts[0].note.removeprefix("--method ")]
    values, ids = best.values[:, best.names.index("open")], best.ids
    assert (weakest.title, strongest.title) == (ids[values.argmin()], ids[values.argmax()])
    assert weakest.rank == 1
    assert strongest.rank == len(ids)
    without = section(replace(result, facts={**facts, "learned": {}}), lambda item: None, 5)
    assert len(without.blocks) == len(page.blocks) - 1, "no RankMKL, no weights"


def test_separation_of_equal_pairs() -> None:
    labels = Labels(
        {
            "pairs": pd.DataFrame(
                [("open", "a", "b", ">"), ("open", "a", "c", "="), ("open", "b", "d", "=")],
                columns=["attribute", "first", "second", "relation"],
            )
        }
    )
    known = supervise(labels, ["a", "b", "c", "d"])["open"]
    # margins: ordered 2; equal 1 and 3, so half of them are smaller
    assert equal_separation(known, np.array([2.0, 0.0, 1.0, 3.0])) == 0.5
    assert pairs_in_order(known, np.array([2.0, 0.0, 1.0, 3.0])) == 1.0


def test_kernel_weights_are_drawn_as_shares() -> None:
    facts = {
        "kernels": [{"feature": "gist", "kernel": "rbf"}, {"feature": "gist", "kernel": "linear"}],
        "learned": {"rankmkl": {"open": {"weights": [3.0, 1.0]}, "flat": {"weights": [0.0, 0.0]}}},
    }
    drawn = weights_table(facts)
    assert list(drawn.values.columns) == ["gist_rbf", "gist_linear"]
    assert drawn.values.loc["open"].tolist() == [0.75, 0.25]
    assert drawn.values.loc["flat"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("module", [attributes_config, attributes_report])
def test_examples(module: object) -> None:
    tried = doctest.testmod(module)
    assert tried.failed == 0
    assert tried.attempted > 0
