"""Fit what a feature type needs before it can describe media: the codebook of a family of local descriptors.

Only a bounded sample of the items of role `base` is used. The result is a `FeatureType`, an output of the
stage `features`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from mediarank.features.base import Extractor, LocalExtractor, fingerprint
from mediarank.features.cache import FeatureCache, cache_key
from mediarank.features.cached_rows import remembered
from mediarank.features.codebook import Codebook, fit_codebook
from mediarank.features.feature_type import FeatureType
from mediarank.features.units import Unit, list_units, read_unit
from mediarank.media.files import File
from mediarank.types import DataError, Floats, Roles, lot


def fit(
    family: Extractor | LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    roles: Roles,
    cache: FeatureCache | None = None,
) -> FeatureType:
    """The feature type, ready to describe. A family without a codebook needs no fitting.

    frames, sounds : the tables of the frames stage
    media : the working copies that their paths name
    If no item has the family's modality, the type has no codebook and describes nothing.
    """
    if not isinstance(family, LocalExtractor):
        return FeatureType(family)
    units = list_units(family, frames, sounds)
    return FeatureType(family, _codebook(family, units, media, roles, cache) if units else None)


def _codebook(
    local: LocalExtractor, units: list[Unit], media: Mapping[str, File], roles: Roles, cache: FeatureCache | None
) -> Codebook:
    """A codebook from the items of role `base` that drew the lowest lots.

    The splits deal roles by the same lots, `base` first, so an item that was chosen stays in `base` when the
    collection grows.
    """
    base = set(roles.items("base"))
    order = sorted({u.item_id for u in units if u.item_id in base}, key=lambda item: lot(item, local.seed))
    chosen = set(order[: local.items])
    if not chosen:
        raise DataError(
            f"{type(local).__name__} needs a codebook, but no item of role base has the modality {local.modality}. "
            "Change the splits, or remove this feature type from params.yaml."
        )
    units = [u for u in units if u.item_id in chosen]
    in_item = Counter(u.item_id for u in units)
    bounds = [-(-local.descriptors // (len(chosen) * in_item[u.item_id])) for u in units]
    identity = fingerprint("sample", local.description_identity(), local.seed)
    keys = [cache_key(identity, f"{u.sha256}:{bound}") for u, bound in zip(units, bounds, strict=True)]
    name, width = type(local).__name__, len(local.descriptor_names())

    whole = fingerprint("codebook", local.words, local.seed, local.standardise, keys)
    kept = cache.get([whole]) if cache else {}
    if whole in kept:
        return Codebook.of_flat(kept[whole], local.words, width)

    def job(number: int) -> tuple[Unit, tuple[File, ...], int]:
        return units[number], tuple(media[path] for path in units[number].paths), bounds[number]

    samples = remembered(f"{name} codebook", keys, job, partial(_sample, local), cache)
    descriptors = np.concatenate([s.reshape(-1, width) for s in samples])
    codebook = fit_codebook(descriptors, local.words, local.seed, local.standardise)
    if cache:
        cache.put(f"{name} codebook", {whole: codebook.flat()})
    return codebook


def _sample(local: LocalExtractor, job: tuple[Unit, tuple[File, ...], int]) -> Floats:
    """A bounded number of a unit's descriptors, drawn by its own generator, so that the order of work can't matter."""
    unit, files, bound = job
    values = local.describe(read_unit(local.modality, unit, files)).values
    if len(values) <= bound:
        return values
    rng = np.random.default_rng([local.seed, int(unit.sha256[:16], 16)])
    return values[np.sort(rng.choice(len(values), bound, replace=False))]
