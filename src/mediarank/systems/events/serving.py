"""`events` as a served model: how likely every event happens in a clip, from what its classifiers look at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mediarank.base_models.clip_rows import ClipRows
from mediarank.base_models.object_bank import object_bank
from mediarank.base_models.pool import SVMPool
from mediarank.systems.events.model import EventsModel
from mediarank.types import FeatureMatrix, Floats, shared_items

FRAME: Final = re.compile(r"#\d+$")
PREFERRED: Final = ("blended_log_odds", "recycling")
"""Ours and the paper's; of the fusions that were fitted, the first of these is served, or else the first of all."""


@dataclass(frozen=True, eq=False)
class ServedEvents:
    """The model with one fusion; `names` are the events.

    looks_at : classifier -> feature type; pools : feature type -> the concept models that look for objects in it
    """

    model: EventsModel
    method: str
    looks_at: Mapping[str, str]
    pools: Mapping[str, SVMPool]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.looks_at.values(), *self.pools)))

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.events

    def able(self, described: Mapping[str, FeatureMatrix]) -> list[str]:
        """Clips: what has motion, or, where nobody looks at that, whatever has frames or sound."""
        if "motion" in self.looks_at:
            return shared_items(described, [self.looks_at["motion"]])
        ids = {name for kind in self.features for name in described[kind].ids.tolist()}
        return sorted({FRAME.sub("", name) for name in ids})

    def rank(self, described: Mapping[str, FeatureMatrix], items: Sequence[str]) -> Floats:
        """Scores (clips, events), higher is likelier. described : by feature type; a clip without sound has no row"""
        matrices = {name: described[kind] for name, kind in self.looks_at.items()}
        if self.pools:
            rows = {kind: ClipRows.of(described[kind], items).rows for kind in self.pools}
            frames = {kind: described[kind].ids[np.sort(positions)] for kind, positions in rows.items()}
            said = {kind: pool.score(described[kind], frames[kind].tolist()) for kind, pool in self.pools.items()}
            matrices["objects"] = object_bank(said, items)
        return np.ascontiguousarray(self.model.rank(matrices, items)[self.method].values.T)


def needs(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types that a clip must be described by."""
    return tuple(dict.fromkeys((*_looks_at(facts).values(), *base_models(facts))))


def base_models(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The feature types whose concept models are packed, too."""
    return tuple(facts["base_models"]) if "objects" in _classifiers(facts) else ()


def method(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Which of the fusions is served."""
    return next((name for name in PREFERRED if name in facts["uses"]), next(iter(facts["uses"])))


def serve(
    arrays: Mapping[str, Any],
    facts: Mapping[str, Any],
    matrices: Mapping[str, FeatureMatrix],
    pools: Mapping[str, SVMPool] | None = None,
) -> ServedEvents:
    """The model; it needs no clip of the collection."""
    return ServedEvents(EventsModel.from_arrays(arrays, facts), method(arrays, facts), _looks_at(facts), pools or {})


def _classifiers(facts: Mapping[str, Any]) -> set[str]:
    """Those that were trained: one whose feature no clip has is left out of the model."""
    return {name for found in facts["classifiers"].values() for name in found}


def _looks_at(facts: Mapping[str, Any]) -> dict[str, str]:
    trained = _classifiers(facts)
    return {name: kind for name, kind in facts["looks_at"].items() if name in trained}
