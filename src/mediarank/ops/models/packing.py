"""Pack a fitted system as a folder of plain files that can rank anywhere; MLflow keeps and serves it.

`pack` gathers what a system needs to rank something new, in the layout of the data folder: the model, the vectors of
the collection with what was fitted for them, the concept models, the settings of working copies, and the summary that
drift is measured against. `unpack` opens such a folder as a `Workspace`, so a packed model is asked like any other.
Nothing is pickled.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import TypeAdapter

from mediarank import store
from mediarank.asking.describe import Copying, describe
from mediarank.asking.workspace import Workspace
from mediarank.media.frames import FramesConfig, frame_id
from mediarank.media.limits import Limits
from mediarank.ops.models.champion_drift import version_summary
from mediarank.systems.model import Needs, RankingModel
from mediarank.systems.registry import model_of
from mediarank.types import DataError, Doubles, FeatureMatrix

FILE = "file"
"""The id of a file from outside while it is described."""


@dataclass(frozen=True, eq=False)
class Packed:
    """An opened packed model."""

    system: str
    workspace: Workspace

    @cached_property
    def model(self) -> RankingModel:
        return self.workspace.model(self.system)

    @cached_property
    def items(self) -> pd.DataFrame:
        """item_id and sha256 of the collection's items when the model was fitted."""
        return store.read_table(self.workspace.data / "items.parquet")

    @cached_property
    def collection(self) -> Mapping[str, FeatureMatrix]:
        return {name: self.workspace.matrices[name] for name in self.model.needs.features}

    def rank_items(self, items: list[str]) -> Doubles:
        """Scores (items, names) of items of the collection."""
        unknown = [item for item in items if item not in self._able]
        if unknown:
            raise DataError(
                f"{', '.join(unknown[:3])}: not in the collection that {self.system} was fitted on, or without what it "
                f"needs ({', '.join(self.model.needs.features)})."
            )
        distinct = sorted(set(items))
        row = {item: k for k, item in enumerate(distinct)}
        return self.model.rank(self.collection, distinct)[[row[item] for item in items]]

    def rank_file(self, path: Path) -> Doubles:
        """Scores (1, names) of a file that the collection does not have, described as the pipeline would."""
        described = describe(self.workspace, {FILE: path}, self.model.needs.features)
        if FILE not in self.model.able(described):
            raise DataError(f"{self.system} needs {', '.join(self.model.needs.features)}; the file lacks some of them.")
        return self.model.rank(described, [FILE])

    def rank_vectors(self, vectors: Mapping[str, npt.ArrayLike]) -> Doubles:
        """Scores (1, names) by the vectors themselves.

        A type that keeps frames takes one row per frame, and an empty list if the clip lacks its modality.
        """
        described = {}
        for name in self.model.needs.features:
            names = self.collection[name].names
            rows = np.asarray(vectors[name], np.float32)
            if rows.size and (rows.ndim > 2 or rows.shape[-1] != len(names)):
                raise DataError(f"{name} has {len(names)} numbers, not an array of shape {rows.shape}.")
            several = rows.reshape(-1, len(names))
            ids = [FILE] if rows.ndim == 1 and rows.size else [frame_id(FILE, k) for k in range(len(several))]
            described[name] = FeatureMatrix(np.array(ids, str), names, several)
        if FILE not in self.model.able(described):
            raise DataError(f"{self.system} needs numbers for {', '.join(self.model.needs.features)}; some have none.")
        return self.model.rank(described, [FILE])

    @cached_property
    def _able(self) -> frozenset[str]:
        return frozenset(self.model.able(self.collection))


def pack(data: Path, system: str, copying: Copying, target: Path) -> Packed:
    """Gather the model of `data/systems/<system>` in a new folder; returns the model opened from there."""
    facts = store.read_json(data / "systems" / system / "model.json")
    needs = needs_of(system, facts)
    about = {
        "system": system,
        "frames": TypeAdapter(FramesConfig).dump_python(copying.frames, mode="json"),
        "limits": TypeAdapter(Limits).dump_python(copying.limits, mode="json"),
    }
    with store.atomic_folder(target) as folder:
        copied = [f"systems/{system}/model.npz", f"systems/{system}/model.json"]
        copied += [f"base_models/{name}/{part}" for name in needs.base_models for part in ("model.npz", "model.json")]
        for name in copied:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(data / name, folder / name)
        for name in dict.fromkeys((*needs.features, *needs.collection)):
            shutil.copytree(data / "features" / name, folder / "features" / name, copy_function=shutil.copyfile)
        store.write_json(folder / "about.json", about)
        served = facts["served"]
        store.write_json(folder / "summary.json", version_summary(data, system, served, needs.features))
        values = store.read_table(data / "evaluation" / system / "per_query.parquet")
        if len(values):
            values = values[values["method"] == served].reset_index(drop=True)
        store.write_table(folder / "per_query.parquet", values)
        manifest = store.read_manifest(data / "manifest/manifest.parquet").usable
        store.write_table(folder / "items.parquet", manifest[["item_id", "sha256"]].reset_index(drop=True))
    return unpack(target)


def unpack(folder: Path) -> Packed:
    about = store.read_json(folder / "about.json")
    copying = Copying(
        TypeAdapter(FramesConfig).validate_python(about["frames"]),
        TypeAdapter(Limits).validate_python(about["limits"]),
    )
    return Packed(about["system"], Workspace(folder, lambda: copying))


def needs_of(system: str, facts: Mapping[str, Any]) -> Needs:
    """What a fitted system needs, without opening its model."""
    return model_of(system).needs_of(facts)
