"""Which objects a clip shows, in the manner of the object bank (Li et al. 2010), by our own concept models.

Every concept model of images scores every sampled frame; a clip keeps the strongest response of each model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mediarank.base_models.clip_rows import ClipRows
from mediarank.types import FeatureMatrix


def object_bank(responses: Mapping[str, FeatureMatrix], clips: Sequence[str]) -> FeatureMatrix:
    """One row per clip that every type covers, one column per model; values from 0 to 1.

    responses : feature type -> normalised scores, from −1 to 1, of frames (or clips) by all concept models of the type

    The range is shifted to start at 0, because histogram intersection needs values that are not negative.
    """
    answered = {kind: matrix for kind, matrix in responses.items() if matrix.names}
    rows = {kind: ClipRows.of(matrix, clips) for kind, matrix in answered.items()}
    everywhere = sorted(set(clips).intersection(*(found.clips for found in rows.values()))) if rows else []
    blocks: list[npt.NDArray[np.floating]] = [np.zeros((len(everywhere), 0), np.float32)]
    names: list[str] = []
    for kind, matrix in answered.items():
        of_kind = ClipRows.of(matrix, everywhere)
        blocks.append((of_kind.maximum(matrix.values[of_kind.rows]) + 1) / 2)
        names += [f"{kind}/{model}" for model in matrix.names]
    values = np.clip(np.concatenate(blocks, axis=1), 0, 1).astype(np.float32)
    return FeatureMatrix(np.asarray(everywhere, dtype=str), tuple(names), values)
