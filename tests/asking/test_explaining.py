"""Reasons in plain words."""

from __future__ import annotations

import pandas as pd
import pytest

from mediarank.asking.explaining import LOOKS, in_words
from mediarank.features.families import EXTRACTORS

FAMILIES = {"a": "lab_histogram", "b": "lbp", "c": "hog", "d": "gist"}


def told(**values: float) -> str:
    return in_words(pd.DataFrame({"feature": list(values), "value": list(values.values())}), FAMILIES)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"a": 2.0, "b": 0.7, "c": -1.0}, "same colours, similar textures; the shapes differ"),
        ({"a": 2.0, "b": 1.6}, "same colours and textures"),
        ({"d": -1.0}, "alike in nothing that stands out; the layout differs"),
        ({"a": 0.1}, "alike in nothing that stands out"),
        ({"other": 3.0}, "same other"),
        ({"class_probabilities": 3.0, "class_probability_roots": 2.0, "a": 0.6}, "same kind, similar colours"),
    ],
)
def test_sentences(values: dict[str, float], sentence: str) -> None:
    assert told(**values) == sentence


def test_similarities_of_one_look_are_averaged() -> None:
    table = pd.DataFrame({"feature": ["a", "a", "b"], "value": [3.0, -1.0, 2.0]})
    assert in_words(table, FAMILIES) == "same textures, similar colours"


def test_every_family_has_a_word() -> None:
    assert set(EXTRACTORS) <= set(LOOKS)
