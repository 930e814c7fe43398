"""MATLAB's cells as lists, and damaged files as errors that name the file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from mediarank.collections.matlab import cells, matrix, read_mat, texts
from mediarank.types import DataError


def test_texts() -> None:
    column = np.array([["a "], ["b"]], dtype=object)
    assert texts(column) == ["a", "b"]
    assert texts(np.array([[np.array(["x"]), np.array(["y"])]], dtype=object)) == ["x", "y"]
    assert texts(np.array(["one", "two "])) == ["one", "two"]
    with pytest.raises(DataError, match="Expected text"):
        texts(np.ones(2))


def test_matrices() -> None:
    inner = np.empty((1, 2), dtype=object)
    inner[0, 0], inner[0, 1] = np.eye(2), np.zeros((0, 0))
    assert [c.shape for c in cells(inner)] == [(2, 2), (0, 0)]
    assert cells(np.eye(3))[0].shape == (3, 3)
    wrapped = np.empty((1, 1), dtype=object)
    wrapped[0, 0] = np.array([[1, 2]], dtype=np.uint8)
    assert matrix(wrapped).tolist() == [[1.0, 2.0]]
    with pytest.raises(DataError, match="Expected a matrix of numbers"):
        matrix(np.array([["a"]]))


def test_damaged_files_are_errors_never_crashes(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"x": np.arange(20.0), "names": np.array(["a", "b"], dtype=object)}, do_compression=True)
    whole = path.read_bytes()
    rng = random.Random(3)  # noqa: S311
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.5 else whole)
        for _ in range(4):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            read_mat(path, "x", "names")
        except DataError as error:
            assert "a.mat" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 30
