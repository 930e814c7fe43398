"""A fitted system as a folder of plain files that ranks anywhere: what MLflow keeps, and what is served.

`pack` gathers what a system needs to rank something new, in the layout of the data folder: the model, the vectors of
the collection with what was fitted for them, the concept models, the settings of working copies, and what drift is
measured against. `unpack` opens such a folder as a `Workspace`, so a packed model is asked like any other.
Nothing is pickled. `digest` stands for all of the folder's files; the registry keeps it, and `require_digest` compares
it before they are opened.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
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
from mediarank.seals import file_sha256
from mediarank.systems.model import Needs, RankingModel
from mediarank.systems.registry import model_of
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats

FILE = "file"
"""What a file from outside is called while it is described."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A packed model, opened."""

    system: str
    workspace: Workspace

    @cached_property
    def model(self) -> RankingModel:
        return self.workspace.model(self.system)

    @cached_property
    def items(self) -> pd.DataFrame:
        """item_id and sha256 of what the collection held when the model was fitted."""
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
                f"looks at ({', '.join(self.model.needs.features)})."
            )
        distinct = sorted(set(items))
        row = {item: k for k, item in enumerate(distinct)}
        return self.model.rank(self.collection, distinct)[[row[item] for item in items]]

    def rank_file(self, path: Path) -> Doubles:
        """Scores (1, names) of a file that the collection does not have, described as the pipeline would."""
        described = describe(self.workspace, {FILE: path}, self.model.needs.features)
        if FILE not in self.model.able(described):
            raise DataError(f"{self.system} looks at {', '.join(self.model.needs.features)}; the file lacks some.")
        return self.model.rank(described, [FILE])

    def rank_vectors(self, vectors: Mapping[str, npt.ArrayLike]) -> Doubles:
        """Scores (1, names) by the vectors themselves.

        A type that keeps frames takes one row per frame, and an empty list where the clip lacks what it looks at.
        """
        described = {}
        for name in self.model.needs.features:
            names = self.collection[name].names
            rows = _numbers(name, vectors[name])
            if rows.size and (rows.ndim not in (1, 2) or rows.shape[-1] != len(names)):
                raise DataError(f"{name} has {len(names)} numbers, not an array of shape {rows.shape}.")
            several = rows.reshape(-1, len(names))
            ids = [FILE] if rows.ndim == 1 and rows.size else [frame_id(FILE, k) for k in range(len(several))]
            described[name] = FeatureMatrix(np.array(ids, str), names, several)
        if FILE not in self.model.able(described):
            raise DataError(f"{self.system} needs numbers for {', '.join(self.model.needs.features)}; some have none.")
        return self.model.rank(described, [FILE])

    def keeps_frames(self, feature: str) -> bool:
        """Whether a feature type has one row per frame of a clip."""
        return self.workspace.feature_type(feature).family.pooling() == "none"

    @cached_property
    def ranks_items(self) -> bool:
        """Whether the names that are put in order are items of the collection."""
        return self._able.issuperset(self.model.names)

    @property
    def example(self) -> str:
        """An item that can be asked about."""
        return min(self._able)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Where each name stands among the model's names."""
        return {name: k for k, name in enumerate(self.model.names)}

    @cached_property
    def _able(self) -> frozenset[str]:
        return frozenset(self.model.able(self.collection))


class ChangedModel(DataError):
    """The files of a registered version are not those that were registered."""


def digest(folder: Path) -> str:
    """Of the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if not path.is_dir()):
        total.update(f"{path.relative_to(folder).as_posix()}\0{file_sha256(path)}\n".encode())
    return total.hexdigest()


def require_digest(folder: Path, wanted: str) -> None:
    """Refuse a packed model whose files are not the ones that `wanted` was computed of."""
    if not folder.is_dir() or digest(folder) != wanted:
        raise ChangedModel(
            f"{folder} is damaged or was changed: its files are not those that were registered. Restore them from a "
            "backup, or run `mediarank promote --force` with another version."
        )


def _numbers(name: str, given: npt.ArrayLike) -> Floats:
    """Numbers as an array, or DataError: text, truth values, missing and infinite numbers are not taken."""
    try:
        if isinstance(given, np.ndarray):  # MLflow makes an array of arrays
            given = [row.tolist() if isinstance(row, np.ndarray) else row for row in given]
        rows = np.array(given) if given else np.zeros(0)
        if not isinstance(given, list) or rows.dtype.kind not in "iuf":
            raise ValueError
        with np.errstate(over="ignore"):
            numbers: Floats = rows.astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{name} must be a list of numbers, or one such list per frame, all of the same length."
        ) from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} has a number that is missing or too large.")
    return numbers


def pack(data: Path, system: str, copying: Copying, target: Path) -> Packed:
    """Gather the model of `data/systems/<system>` in a new folder; the model as it will be opened from there."""
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


def unpack(folder: Path, adapted: Callable[[Copying], Copying] = lambda copying: copying) -> Packed:
    """Open a packed model. adapted : changes the settings by which files from outside are decoded"""
    about = store.read_json(folder / "about.json")
    copying = Copying(
        TypeAdapter(FramesConfig).validate_python(about["frames"]),
        TypeAdapter(Limits).validate_python(about["limits"]),
    )
    return Packed(about["system"], Workspace(folder, lambda: adapted(copying)))


def needs_of(system: str, facts: Mapping[str, Any]) -> Needs:
    """What a fitted system looks at, without opening its model."""
    return model_of(system).needs_of(facts)
