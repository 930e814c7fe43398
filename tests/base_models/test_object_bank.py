from __future__ import annotations

import numpy as np

from mediarank.base_models.object_bank import object_bank
from mediarank.types import FeatureMatrix


def test_a_clip_keeps_the_strongest_response_of_every_model() -> None:
    colour = FeatureMatrix(
        np.array(["a#000", "a#001", "b#000", "image.jpg"]),
        ("boat|0", "dog|0"),
        np.array([[-1, 0.5], [0, -0.5], [1, 1], [1, 1]], np.float32),
    )
    shape = FeatureMatrix(np.array(["a", "b", "c"]), ("boat|0",), np.array([[0.2], [0.4], [0.6]], np.float32))
    bank = object_bank({"colour": colour, "shape": shape}, ["b", "a", "c"])
    assert bank.ids.tolist() == ["a", "b"], "c has no colour"
    assert bank.names == ("colour/boat|0", "colour/dog|0", "shape/boat|0")
    np.testing.assert_allclose(bank.values, [[0.5, 0.75, 0.6], [1, 1, 0.7]], rtol=1e-6)


def test_without_concepts_there_is_nothing_to_see() -> None:
    silent = FeatureMatrix(np.array(["a"]), (), np.zeros((1, 0), np.float32))
    for responses in ({}, {"colour": silent}):
        bank = object_bank(responses, ["a"])
        assert bank.values.shape == (0, 0)
