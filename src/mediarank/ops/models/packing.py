"""A fitted system as a folder of plain files that ranks anywhere: what MLflow keeps, and what is served.

`pack` gathers what a system needs to rank something new: the model (npz and JSON), the vectors of the collection, how
a picture becomes vectors (families' settings and codebooks), and what drift is measured against. `unpack` makes a
`Packed` of such a folder. Nothing is pickled. A system takes part by a module in `SERVERS`; one that has none is left
out.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import TypeAdapter

from mediarank import store
from mediarank.base_models.pool import SVMPool
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.codebook import Codebook
from mediarank.features.families import EXTRACTORS
from mediarank.features.matrix import build, fit
from mediarank.media.frames import FramesConfig, frame_id, make_working_copies, tables
from mediarank.media.limits import Limits
from mediarank.media.probe import probe
from mediarank.ops.models.champion_drift import version_summary
from mediarank.types import DataError, Doubles, FeatureMatrix, Floats, Roles

FILE: Final = "file"
"""What a file from outside is called while it is looked at."""
Families = Mapping[str, Extractor | LocalExtractor]
Scores = Floats | Doubles


class Served(Protocol):
    """A model that ranks.

    method : of the system; features : the types that items are described by; names : what is ranked for an item
    """

    @property
    def method(self) -> str: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        """The items, sorted, that are described well enough to be asked about. described : by feature type"""

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Scores:
        """Scores (items, names), higher is better. items : sorted, none twice, of those that `able` gives"""


class Server(Protocol):
    """What a module in `SERVERS` offers.

    One that builds on concept models also has `base_models(facts)`, the feature types whose models are packed, and its
    `serve` is given them as `pools`.
    """

    def needs(self, facts: Mapping[str, Any]) -> tuple[str, ...]:
        """The feature types that are packed with the model."""

    def method(self, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
        """Which of the system's methods is served."""

    def serve(
        self, arrays: Mapping[str, Any], facts: Mapping[str, Any], matrices: Mapping[str, FeatureMatrix], **parts: Any
    ) -> Served:
        """The model, over the items of the matrices."""


SERVERS: Final[Mapping[str, str]] = {
    "annotation": "mediarank.systems.annotation.model",
    "attributes": "mediarank.systems.attributes.serving",
    "concepts": "mediarank.systems.concepts.serving",
    "events": "mediarank.systems.events.serving",
    "retrieval": "mediarank.systems.retrieval.serving",
}


def server(system: str) -> Server | None:
    """The system's way to be served, if it has one."""
    return import_module(SERVERS[system]) if system in SERVERS else None


@dataclass(frozen=True)
class Preparation:
    """How an original becomes vectors: the families by name, and how working copies are made."""

    families: Families
    frames: FramesConfig
    limits: Limits


@dataclass(frozen=True, eq=False)
class Packed:
    """A packed model, opened.

    items : item_id and sha256 of what the collection held when the model was fitted
    """

    system: str
    served: Served
    matrices: Mapping[str, FeatureMatrix]
    families: Families
    codebooks: Mapping[str, Codebook]
    frames: FramesConfig
    limits: Limits
    items: pd.DataFrame

    def rank_items(self, items: Sequence[str]) -> Scores:
        """Scores of items of the collection."""
        unknown = [item for item in items if item not in self._able]
        if unknown:
            raise DataError(
                f"{', '.join(unknown[:3])}: not in the collection that {self.system} was fitted on, or without what it "
                f"looks at ({', '.join(self.served.features)})."
            )
        distinct = sorted(set(items))
        row = {item: k for k, item in enumerate(distinct)}
        return self.served.rank(self.matrices, distinct)[[row[item] for item in items]]

    def rank_file(self, path: Path) -> Scores:
        """Scores (1, names) of a file that the collection does not have, described just as the pipeline would."""
        with tempfile.TemporaryDirectory() as folder:
            kind = probe(path, self.limits).kind
            copies = make_working_copies(FILE, path, kind, Path(folder), self.frames, self.limits)
            described = self.describe(*tables([copies]), Path(folder))
        if FILE not in self.served.able(described):
            raise DataError(f"{self.system} looks at {', '.join(self.served.features)}, which a {kind} does not have.")
        return self.served.rank(described, [FILE])

    def rank_vectors(self, vectors: Mapping[str, npt.ArrayLike]) -> Scores:
        """Scores (1, names) by the vectors themselves; a row a frame where a type has several of a clip, none at all
        where a clip lacks what the type looks at."""
        described = {}
        for name in self.served.features:
            names = self.matrices[name].names
            rows = np.asarray(vectors[name], np.float32)
            if rows.size and (rows.ndim > 2 or rows.shape[-1] != len(names)):
                raise DataError(f"{name} has {len(names)} numbers, not an array of shape {rows.shape}.")
            several = rows.reshape(-1, len(names))
            ids = [FILE] if rows.ndim == 1 and rows.size else [frame_id(FILE, k) for k in range(len(several))]
            described[name] = FeatureMatrix(np.array(ids, str), names, several)
        if FILE not in self.served.able(described):
            raise DataError(f"{self.system} needs numbers for {', '.join(self.served.features)}; some have none.")
        return self.served.rank(described, [FILE])

    @cached_property
    def _able(self) -> frozenset[str]:
        return frozenset(self.served.able(self.matrices))

    def describe(
        self, frames: pd.DataFrame, sounds: pd.DataFrame, folder: Path, cache: FeatureCache | None = None
    ) -> dict[str, FeatureMatrix]:
        """Vectors of working copies, with the packed codebooks: nothing is fitted."""
        nobody = Roles(pd.DataFrame({"item_id": [], "group_id": [], "role": [], "fold": []}))
        return {
            name: build(self.families[name], frames, sounds, folder, nobody, cache, self.codebooks.get(name))
            for name in self.served.features
        }


def pack(data: Path, system: str, preparation: Preparation, cache: FeatureCache, target: Path) -> Packed:
    """Gather the model of `data/systems/<system>` in a new folder; the model as it will be opened from there."""
    found = server(system)
    if found is None:
        raise DataError(f"{system} can't be served; of the systems, {', '.join(SERVERS)} can.")
    fitted = data / "systems" / system
    facts = store.read_json(fitted / "model.json")
    families = {name: preparation.families[name] for name in found.needs(facts)}
    local = {name: family for name, family in families.items() if isinstance(family, LocalExtractor)}
    codebooks = _codebooks(data, local, cache)
    about = {
        "system": system,
        "families": {name: _plain_family(family) for name, family in families.items()},
        "frames": TypeAdapter(FramesConfig).dump_python(preparation.frames, mode="json"),
        "limits": TypeAdapter(Limits).dump_python(preparation.limits, mode="json"),
    }
    with store.atomic_folder(target) as folder:
        for name in ("model.npz", "model.json"):
            shutil.copyfile(fitted / name, folder / name)
        for name in families:
            shutil.copytree(data / "features" / name, folder / "features" / name, copy_function=shutil.copyfile)
        for name in _built_on(found, facts):
            for part in ("model.npz", "model.json"):
                (folder / "base_models" / name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(data / "base_models" / name / part, folder / "base_models" / name / part)
        store.write_arrays(folder / "codebooks.npz", codebooks)
        store.write_json(folder / "about.json", about)
        chosen = found.method(store.read_arrays(fitted / "model.npz"), facts)
        store.write_json(folder / "summary.json", version_summary(data, system, chosen, list(families)))
        values = store.read_table(data / "evaluation" / system / "per_query.parquet")
        store.write_table(folder / "per_query.parquet", values[values["method"] == chosen].reset_index(drop=True))
        manifest = store.read_manifest(data / "manifest/manifest.parquet").usable
        store.write_table(folder / "items.parquet", manifest[["item_id", "sha256"]].reset_index(drop=True))
    return unpack(target)


def unpack(folder: Path) -> Packed:
    about = store.read_json(folder / "about.json")
    found = server(about["system"])
    if found is None:
        raise DataError(f"{folder} holds a model of {about['system']}, which this version of mediarank can't serve.")
    families = {name: _family(settings) for name, settings in about["families"].items()}
    arrays = store.read_arrays(folder / "codebooks.npz")
    codebooks = {
        name: Codebook(arrays[f"{name}.words"], arrays[f"{name}.scale"], arrays[f"{name}.spread"].item())
        for name, family in families.items()
        if isinstance(family, LocalExtractor)
    }
    matrices = {name: store.read_features(folder / "features" / name) for name in families}
    return Packed(
        about["system"],
        _open(found, folder, folder / "base_models", matrices),
        matrices,
        families,
        codebooks,
        TypeAdapter(FramesConfig).validate_python(about["frames"]),
        TypeAdapter(Limits).validate_python(about["limits"]),
        store.read_table(folder / "items.parquet"),
    )


def open_fitted(data: Path, system: str) -> tuple[Served, dict[str, FeatureMatrix]]:
    """The model as the stages wrote it, without packing, and the vectors of the collection that it looks at."""
    found = import_module(SERVERS[system])
    fitted = data / "systems" / system
    names = found.needs(store.read_json(fitted / "model.json"))
    matrices = {name: store.read_features(data / "features" / name) for name in names}
    return _open(found, fitted, data / "base_models", matrices), matrices


def best(scores: Scores, names: Sequence[str], queries: Sequence[str], count: int) -> pd.DataFrame:
    """query, rank, name, score: the `count` best of each query, ties in the order of the names."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    rows = [
        (query, rank, names[place], float(scores[k, place]))
        for k, query in enumerate(queries)
        for rank, place in enumerate(order[k].tolist(), start=1)
    ]
    return pd.DataFrame(rows, columns=["query", "rank", "name", "score"])


def _open(found: Server, folder: Path, base_models: Path, matrices: Mapping[str, FeatureMatrix]) -> Served:
    """folder : of model.npz and model.json; base_models : a folder a feature type"""
    arrays, facts = store.read_arrays(folder / "model.npz"), store.read_json(folder / "model.json")
    pools = {name: _pool(base_models / name) for name in _built_on(found, facts)}
    return found.serve(arrays, facts, matrices, **({"pools": pools} if pools else {}))


def _built_on(found: Server, facts: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(found.base_models(facts)) if hasattr(found, "base_models") else ()


def _pool(folder: Path) -> SVMPool:
    return SVMPool.from_arrays(store.read_arrays(folder / "model.npz"), store.read_json(folder / "model.json"))


def _codebooks(data: Path, local: Mapping[str, LocalExtractor], cache: FeatureCache) -> dict[str, np.ndarray[Any, Any]]:
    """As the features stage fitted them: from the cache, or fitted again on the same items, which gives the same."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    if not local:
        return arrays
    frames, sounds = (store.read_table(data / f"frames/{table}.parquet") for table in ("frames", "sounds"))
    roles = store.read_roles(data / "splits/roles.parquet")
    for name, family in local.items():
        codebook = fit(family, frames, sounds, data / "frames/media", roles, cache)
        arrays |= {
            f"{name}.words": codebook.words,
            f"{name}.scale": codebook.scale,
            f"{name}.spread": np.array([codebook.spread]),
        }
    return arrays


def _plain_family(family: Extractor | LocalExtractor) -> dict[str, Any]:
    name = next(name for name, kind in EXTRACTORS.items() if kind is type(family))
    return {"family": name, **TypeAdapter(type(family)).dump_python(family, mode="json")}


def _family(settings: Mapping[str, Any]) -> Extractor | LocalExtractor:
    fields = {key: value for key, value in settings.items() if key != "family"}
    made: Extractor | LocalExtractor = TypeAdapter(EXTRACTORS[settings["family"]]).validate_python(fields)
    return made
