"""What can be asked: the models, vectors and tables of a data folder, each opened when it is first needed.

A folder that the stages filled and a packed model have the same layout (`systems/`, `features/`, `base_models/`), so
both are a `Workspace`. `model` is the one way to open a fitted system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pandas as pd

from mediarank import store
from mediarank.evaluation.calibration import Calibration
from mediarank.labels import Labels
from mediarank.media.shards import Media
from mediarank.systems.calibrate import calibration_in
from mediarank.systems.model import Parts, RankingModel
from mediarank.systems.registry import SYSTEMS, model_of
from mediarank.types import DataError, FeatureMatrix, Manifest

if TYPE_CHECKING:  # slow to import, and most questions do not need it
    from mediarank.asking.describe import Copying
    from mediarank.base_models.pool import SVMPool
    from mediarank.features.feature_type import FeatureType

Value = TypeVar("Value")


class OpenedWhenAsked(Mapping[str, Value], Generic[Value]):
    """The subfolders of a folder, each read when first asked for, and kept."""

    def __init__(self, folder: Path, read: Callable[[Path], Value]) -> None:
        self._folder, self._read = folder, read
        self._known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            if not (self._folder / name).is_dir():
                raise DataError(f"{self._folder / name} is missing. Run `dvc repro {self._folder.name}@{name}`.")
            self._known[name] = self._read(self._folder / name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return (path.name for path in sorted(self._folder.iterdir()) if path.is_dir()) if len(self) else iter(())

    def __len__(self) -> int:
        return sum(path.is_dir() for path in self._folder.iterdir()) if self._folder.is_dir() else 0

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._folder / name).is_dir()


@dataclass(frozen=True, eq=False)
class Workspace:
    """A data folder, as the stages or `ops/models/packing.py` wrote it.

    copying : gives the settings for working copies; called when the first file is described
    """

    data: Path
    copying: Callable[[], Copying]
    _models: dict[str, RankingModel] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def matrices(self) -> Mapping[str, FeatureMatrix]:
        """Feature type -> the collection's vectors."""
        return OpenedWhenAsked(self.data / "features", store.read_features)

    @cached_property
    def pools(self) -> Mapping[str, SVMPool]:
        """Feature type -> its concept models."""
        return OpenedWhenAsked(self.data / "base_models", _read_pool)

    @cached_property
    def labels(self) -> Labels:
        return store.read_labels(self.data / "manifest/labels")

    @cached_property
    def manifest(self) -> Manifest:
        return store.read_manifest(self.data / "manifest/manifest.parquet")

    @cached_property
    def frames(self) -> pd.DataFrame:
        """The working copies of pictures and frames, one row per copy."""
        return store.read_table(self.data / "frames/frames.parquet")

    @cached_property
    def copies(self) -> Media:
        """The working copies by path."""
        return Media(self.data / "frames/media")

    @cached_property
    def originals(self) -> Media:
        """The originals by path."""
        return Media(self.data / "raw/media")

    def facts(self, system: str) -> Mapping[str, Any]:
        """Facts about a fitted system, without opening it; `skipped` says why it was not fitted."""
        if system not in SYSTEMS:
            raise DataError(f"There is no system {system!r}; choose one of: {', '.join(SYSTEMS)}.")
        path = self.data / "systems" / system / "model.json"
        if not path.exists():
            raise DataError(f"{path} is missing. List {system} under systems in params.yaml and run `dvc repro`.")
        facts: Mapping[str, Any] = store.read_json(path)
        return facts

    def model(self, system: str) -> RankingModel:
        """The fitted system, ready to be asked."""
        if system not in self._models:
            facts = self.facts(system)
            if "skipped" in facts:
                raise DataError(f"{system} learned nothing: {facts['skipped']}")
            arrays = store.open_arrays(self.data / "systems" / system / "model.npz")
            parts = Parts(self.matrices, self.pools)
            self._models[system] = model_of(system).from_arrays(arrays, facts, parts)
        return self._models[system]

    def calibration(self, system: str) -> Calibration | None:
        """The probabilities of a system's served method, if it has them."""
        path = self.data / "systems" / system / "model.npz"
        return calibration_in(store.open_arrays(path)) if path.exists() else None

    def why_not(self, system: str) -> str | None:
        """Why a system can't be asked, or None if it can."""
        try:
            skipped = self.facts(system).get("skipped")
        except DataError as error:
            return str(error)
        return None if skipped is None else str(skipped)

    def feature_type(self, name: str) -> FeatureType:
        """A family with its settings and what the stage `features` fitted for it, ready to describe media."""
        from mediarank.features.feature_type import FeatureType

        return FeatureType.from_stored(*store.read_fitted(self.data / "features" / name))

    def first_with(self, types: Sequence[str]) -> str | None:
        """The first item that has a vector of each of these types, if there is one; the vectors are not read."""
        having = (set(store.read_ids(self.data / "features" / name)) for name in types)
        return min(set.intersection(*having), default=None)

    def vectors_of(self, item: str, types: Sequence[str]) -> list[Any]:
        """An item's own vectors, one per feature type."""
        return [self.matrices[name].rows([item])[0] for name in types]


def _read_pool(folder: Path) -> SVMPool:
    from mediarank.base_models.pool import SVMPool

    return SVMPool.from_arrays(store.open_arrays(folder / "model.npz"), store.read_json(folder / "model.json"))
