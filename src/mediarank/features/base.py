"""The contract of a feature family: a medium goes in, one named float32 vector comes out.

A family is a frozen dataclass and its own configuration: its fields are the settings under `features.<name>` in
params.yaml. All families share `Family`. An `Extractor` turns a medium into a vector directly; an `ImageExtractor` adds
granularity and pooling for all image families. A `LocalExtractor` describes a medium by many small vectors
(descriptors), which a bag of words (`bag_of_words.py`) turns into one vector once a codebook is fitted.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.features.granularity import REGIONS, Granularity, cut
from mediarank.features.normalise import Normalisation
from mediarank.types import DataError, Floats

Modality = Literal["image", "sound", "clip"]
Pool = Literal["mean", "max", "none"]
Picture = npt.NDArray[np.uint8]
"""(height, width, 3) uint8 RGB."""
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Family(ABC):
    """The base of all families: a modality, a version and an identity.

    `version` is part of the cache's key: raise it whenever a change alters results.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    modality: ClassVar[Modality]
    version: ClassVar[int] = 1
    outside_identity: ClassVar[tuple[str, ...]] = ()
    """Fields that do not change what the family returns."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One name per dimension, all different."""

    def pooling(self) -> Pool:
        """How the frames of a clip become one row; only image families have a choice."""
        return "mean"

    def identity(self) -> str:
        """A hash of everything that decides what the family returns: name, version, settings and libraries."""
        parameters = {k: v for k, v in asdict(self).items() if k not in self.outside_identity}
        return fingerprint(type(self).__name__, self.version, parameters)


@dataclass(frozen=True)
class Extractor(Family):
    """A family that needs no fitting."""

    @abstractmethod
    def extract(self, medium: Any) -> Floats:
        """(len(names()),) float32, finite, for every medium."""

    def basis(self) -> Extractor | None:
        """Another extractor from whose vector this one can be computed, or None; the cache keeps its vectors."""
        return None

    def from_basis(self, vector: Floats) -> Floats:
        """What `extract` would return, from the vector of `basis`."""
        return vector

    def kept_in(self, folder: Path) -> Extractor:
        """The same extractor; one that takes long to open may keep what it needs in this folder of the cache."""
        return self


@dataclass(frozen=True)
class ImageExtractor(Extractor):
    """A family that describes one picture; it describes each frame of a clip.

    granularity : the regions that are described one by one; their vectors are concatenated (see `granularity.py`)
    pool : how the frames of a clip become one vector; `none` keeps one row per frame
    """

    modality: ClassVar[Modality] = "image"
    outside_identity: ClassVar[tuple[str, ...]] = ("pool",)
    granularity: Granularity = "global"
    pool: Pool = "mean"

    @abstractmethod
    def region_names(self) -> tuple[str, ...]:
        """Names of the dimensions of one region."""

    @abstractmethod
    def extract_region(self, picture: Picture) -> Floats:
        """The vector of one region: a contiguous, non-empty uint8 RGB array."""

    def names(self) -> tuple[str, ...]:
        inner = self.region_names()
        return tuple(region.prefix + name for region in REGIONS[self.granularity] for name in inner)

    def pooling(self) -> Pool:
        return self.pool

    def extract(self, medium: Picture) -> Floats:
        picture = require_picture(medium)
        regions = REGIONS[self.granularity]
        return np.concatenate([self.extract_region(cut(picture, region)) for region in regions], dtype=np.float32)


@dataclass(frozen=True)
class Descriptors:
    """Many small vectors and their places.

    values : (n, d) float32
    places : (n, 2) float32, (down, across) in [0, 1); a sound's are (time, 0)
    """

    values: Floats
    places: Floats


@dataclass(frozen=True)
class LocalExtractor(Family):
    """A family of local descriptors, to be counted in a bag of words.

    granularity : regions whose descriptors are counted separately; for a sound, `thirds` are beginning, middle and end
    pool : how the frames of a clip become one vector, if the family describes pictures
    words : number of words in the codebook
    assignment : a descriptor counts for its nearest word (hard), or is shared among its `neighbours` nearest (soft)
    items : the codebook is fitted on this many items of role base, at most
    descriptors : of those items together, in equal parts, at most
    """

    outside_identity: ClassVar[tuple[str, ...]] = ("pool",)
    standardise: ClassVar[bool] = False
    """Whether a descriptor's dimensions have different units and must be scaled before clustering."""
    granularity: Granularity = "global"
    pool: Pool = "mean"
    words: Count = 256
    assignment: Literal["hard", "soft"] = "hard"
    neighbours: Count = 4
    normalisation: Normalisation = "l1"
    items: Count = 400
    descriptors: Count = 40_000
    seed: int = 0

    @abstractmethod
    def descriptor_names(self) -> tuple[str, ...]:
        """One name per dimension of a descriptor."""

    @abstractmethod
    def describe(self, medium: Any) -> Descriptors:
        """The medium's descriptors; possibly zero of them."""

    def names(self) -> tuple[str, ...]:
        return tuple(region.prefix + f"word{w}" for region in REGIONS[self.granularity] for w in range(self.words))

    def pooling(self) -> Pool:
        return self.pool

    def description_identity(self) -> str:
        """Like `identity`, but of what `describe` returns, whatever the words and how they are counted."""
        shared = {field.name for field in fields(LocalExtractor)}
        own = {k: v for k, v in asdict(self).items() if k not in shared}
        return fingerprint(type(self).__name__, self.version, own)


def require_picture(picture: Picture) -> Picture:
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
        raise DataError(
            f"A picture is (height, width, 3) uint8 RGB with at least one pixel, not {picture.dtype} {picture.shape}; "
            "read it with media.working.read_picture."
        )
    return picture


def fingerprint(*parts: Any) -> str:
    """sha256 of the parts, as JSON, and of the versions of the libraries."""
    return hashlib.sha256(json.dumps([*parts, _libraries()], sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    """The libraries' versions: a new release may change a last digit, and a cached vector must equal a fresh one."""
    packages = ("librosa", "numba", "numpy", "opencv-contrib-python-headless", "scikit-learn", "scipy")
    return tuple(f"{package}={version(package)}" for package in packages)
