"""The expected strength of attributes, given how well each class fits an item."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from mediarank.types import Doubles


def expected_strengths(class_scores: Doubles, strengths: Doubles, temperature: float) -> Doubles:
    """(items, attributes) from scores (items, classes) and strengths (classes, attributes).

    >>> expected_strengths(np.array([[0.0, 0.0], [9.0, 0.0]]), np.array([[3.0], [1.0]]), 0.1).tolist()
    [[2.0], [3.0]]
    """
    return np.asarray(softmax(class_scores / temperature, axis=1) @ strengths)
