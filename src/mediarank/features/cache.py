"""The feature cache: a vector that was computed once is not computed again.

A key is the hash of a medium's bytes and of everything that decides the result (`Family.identity`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mediarank.content_cache import ContentCache
from mediarank.types import Floats


def cache_key(identity: str, sha256: str) -> str:
    """The key for a medium's content (`sha256` of its working copy) and an extractor's identity."""
    return hashlib.sha256(f"{identity}:{sha256}".encode()).hexdigest()


@dataclass(frozen=True)
class FeatureCache(ContentCache):
    """A cache of vectors."""

    file: ClassVar[str] = "features.sqlite"

    def get(self, keys: Iterable[str]) -> dict[str, Floats]:
        """Flat float32 arrays, not writable, of the keys that have an undamaged entry."""
        found = self.read(keys)
        return {key: np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False) for key, data in found.items()}

    def put(self, family: str, arrays: Mapping[str, Floats]) -> None:
        """Keep arrays by key: all of them, or none if the process dies."""
        self.write(family, {k: np.ascontiguousarray(array, dtype="<f4").tobytes() for k, array in arrays.items()})
