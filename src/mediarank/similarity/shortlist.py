"""A shortlist in front of φ, for collections too large to compare with one by one.

Each item becomes one short vector: its feature types, each scaled to length 1 and weighted, are concatenated and
projected to the directions that keep most of the variance of a sample, so that dot products approximate the weighted
sum of cosines. FAISS keeps the vectors in an inverted file; a query searches the nearest cells only. φ then ranks the
shortlist exactly. `recall` measures the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.similarity.nearest import Positions
from mediarank.types import DataError, Floats

_BLOCK: Final = 8192
_SAMPLE: Final = 16384
"""Items from which the directions are computed."""


@dataclass(frozen=True)
class Shortlist:
    """A FAISS index with its projection.

    index : FAISS's
    projection : (all dimensions, short ones)
    type_weights : of the feature types
    """

    index: Any
    projection: Floats
    type_weights: Floats

    @classmethod
    def build(
        cls,
        collections: Sequence[Floats],
        type_weights: npt.ArrayLike | None = None,
        dimensions: int = 128,
        cells: int | None = None,
        seed: int = 0,
    ) -> Shortlist:
        """Over the rows of all types. cells : of the inverted file; by default four times the root of the items"""
        import faiss
        from sklearn.utils.extmath import randomized_svd  # slow to import, and most searches do without

        count = len(collections[0])
        if not count:
            raise DataError("A shortlist needs a collection that is not empty.")
        weights = np.ones(len(collections)) if type_weights is None else np.asarray(type_weights, dtype=np.float64)
        if weights.shape != (len(collections),) or not (weights >= 0).all():
            raise DataError(f"Give one weight from 0 up for each of the {len(collections)} feature types.")
        rng = np.random.default_rng(seed)
        drawn = np.sort(rng.choice(count, min(count, _SAMPLE), replace=False))
        sample = _joined([rows[drawn] for rows in collections], weights)
        short = min(dimensions, *sample.shape)
        projection = np.ascontiguousarray(randomized_svd(sample, short, random_state=seed)[2].T, dtype=np.float32)
        vectors = np.empty((count, short), dtype=np.float32)
        for start in range(0, count, _BLOCK):
            block = slice(start, start + _BLOCK)
            vectors[block] = _joined([rows[block] for rows in collections], weights) @ projection
        lists = min(
            cells or max(1, int(4 * np.sqrt(count))), max(1, count // 39 or 1)
        )  # FAISS wants 39 points per cell
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(short), short, lists, faiss.METRIC_INNER_PRODUCT)
        index.cp.seed = seed + 1
        index.train(vectors[np.sort(rng.choice(count, min(count, 64 * lists), replace=False))])
        index.add(vectors)
        return cls(index, projection, weights.astype(np.float32))

    def candidates(self, queries: Sequence[Floats], count: int, probes: int = 16) -> Positions:
        """Rows that may be the nearest, at most `count`; with more probes, more cells are searched."""
        import faiss

        vector = _joined([np.asarray(query)[None] for query in queries], self.type_weights) @ self.projection
        settings = faiss.SearchParametersIVF(nprobe=min(probes, self.index.nlist))  # type: ignore[call-arg]  # SWIG's
        found = self.index.search(vector.astype(np.float32), count, params=settings)[1][0]
        return np.asarray(found[found >= 0], dtype=np.intp)


def recall(exact: Positions, shortlist: Positions) -> float:
    """The share of the exact answer that the shortlist holds."""
    return float(np.isin(exact, shortlist).mean()) if len(exact) else 1.0


def _joined(blocks: Sequence[Floats], weights: npt.NDArray[Any]) -> Floats:
    """Each type's rows at length √weight, side by side: dot products are weighted sums of cosines."""
    parts = []
    for rows, weight in zip(blocks, weights, strict=True):
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        parts.append(rows * (np.sqrt(weight) / np.maximum(length, 1e-12)))
    return np.concatenate(parts, axis=1).astype(np.float32)
