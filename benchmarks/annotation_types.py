"""What the annotation benchmark measures on: feature types with their distances, and a collection described by them.

`SETS` names five sets: JEC's seven features (Makadia et al. 2008) with its distances; the same with joint colour
histograms in place of one per channel, as the authors do not say which they took; a richer one with bags of SIFT and
hue words, each over the whole picture and in three bands, and GIST, local binary patterns, gradients, correlograms,
Gabor energy, edges, moments and wavelets; a pretrained network alone, at two sizes; and the network with joint colour
histograms and correlograms. Hand-made types were fixed before anything was measured on them; which of them are in `all`
was decided in a trial that showed left-out training pictures and test pictures. Codebooks are fitted on training
pictures; working copies and features are kept in a cache folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.sources import open_collection, recognise
from mediarank.content_cache import ContentCache
from mediarank.features.autocorrelogram import Autocorrelogram
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_histogram import Hsv, HsvHistogram, Lab, LabHistogram, Rgb, RgbHistogram
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.describe import extract_rows
from mediarank.features.edge_direction import EdgeDirection
from mediarank.features.fitting import fit
from mediarank.features.gabor import Gabor, GaborBank, GaborQ
from mediarank.features.gist import Gist
from mediarank.features.haar import Haar, HaarQ, HaarTexture
from mediarank.features.hog import Hog
from mediarank.features.hue import Hue
from mediarank.features.lbp import Lbp
from mediarank.features.network import Network
from mediarank.features.sift import Sift
from mediarank.labels import Labels
from mediarank.media.copy_cache import Job, working_copies
from mediarank.media.frames import FramesConfig
from mediarank.media.frames import tables as tables_of
from mediarank.media.guard import Failed
from mediarank.media.limits import Limits
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.stages.splits import SplitsConfig
from mediarank.types import DataError, FeatureMatrix, Roles

BANDS = "3x1."
"""How the columns of the three horizontal bands begin; those of the whole picture have no prefix."""

SAMPLE = 400_000
"""Descriptors that a codebook is fitted on."""

FAMILIES: Mapping[str, Extractor | LocalExtractor] = {
    "network": Network(),
    "network_320": Network(side=320),
    "rgb": Rgb(),
    "hsv": Hsv(),
    "lab": Lab(),
    "haar": Haar(),
    "haarq": HaarQ(),
    "gabor": Gabor(),
    "gaborq": GaborQ(),
    "rgb_cube": RgbHistogram(bins=(16, 16, 16), soft=False),
    "hsv_cube": HsvHistogram(bins=(16, 16, 16), soft=False),
    "lab_cube": LabHistogram(bins=(16, 16, 16), soft=False, curved=False),
    "rgb_joint": RgbHistogram(granularity="global_thirds"),
    "hsv_joint": HsvHistogram(granularity="global_thirds"),
    "lab_joint": LabHistogram(granularity="global_thirds"),
    "moments": ColourMoments(granularity="4x4"),
    "edges": EdgeDirection(granularity="pyramid", bins=12),
    "wavelets": HaarTexture(colour=True),
    "correlogram": Autocorrelogram(space="hsv", bins=(16, 2, 2)),
    "gradients": Hog(),
    "patterns": Lbp(cells=2),
    "gabor_energy": GaborBank(),
    "gist": Gist(colour=True),
    "hue": Hue(words=100, granularity="global_thirds", assignment="soft", descriptors=SAMPLE),
    "hue_corners": Hue(
        words=100, granularity="global_thirds", sampling="harris", assignment="soft", descriptors=SAMPLE
    ),
    "sift": Sift(words=1000, granularity="global_thirds", assignment="soft", descriptors=SAMPLE),
    "sift_corners": Sift(
        words=1000, granularity="global_thirds", sampling="harris", assignment="soft", descriptors=SAMPLE
    ),
}

NETWORK: Mapping[str, str] = {"network": "chi2", "network_320": "chi2"}
"""What a pretrained network pools at two sizes of the picture; none of it is below 0, so χ² can compare it."""

JEC: Mapping[str, str] = {
    "rgb": "l1",
    "hsv": "l1",
    "lab": "kl",
    "haar": "l1",
    "haarq": "l1",
    "gabor": "l1",
    "gaborq": "l1",
}
"""feature type -> its distance"""

CHANNELS = ("rgb", "hsv", "lab")
SETS: dict[str, Mapping[str, str]] = {
    "jec": JEC,
    "jec_joint": {f"{name}_cube" if name in CHANNELS else name: measure for name, measure in JEC.items()},
    "rich": {
        **JEC,
        **{f"{name}{part}": "l1" for name in ("rgb_joint", "hsv_joint", "lab_joint") for part in ("", "_bands")},
        **{
            f"{name}{part}": "chi2"
            for name in ("hue", "hue_corners", "sift", "sift_corners")
            for part in ("", "_bands")
        },
        "moments": "l1",
        "edges": "l1",
        "wavelets": "l1",
        "correlogram": "l1",
        "gradients": "l2",
        "patterns": "l2",
        "gabor_energy": "l1",
        "gist": "l2",
    },
}
COLOUR = ("hsv_joint", "hsv_joint_bands", "lab_joint", "lab_joint_bands", "correlogram")
SETS |= {"network": NETWORK, "all": {**NETWORK, **{name: SETS["rich"][name] for name in COLOUR}}}
"""`all` is the network with what it knows least about, colour and its layout, so that it stays quick."""


@dataclass(frozen=True)
class Described:
    """
    source : the collection's name, as in `COLLECTIONS`
    labels and roles : of the usable pictures, near-duplicates of one part in one group
    looks : perceptual hashes, by item; features : one per type
    """

    source: str
    labels: Labels
    roles: Roles
    looks: Mapping[str, str]
    features: Mapping[str, FeatureMatrix]


def describe(folder: Path, cache: Path, types: Mapping[str, str]) -> Described:
    """Every picture that the source gives a role, by the types asked for."""
    listing = open_collection(folder)
    said = dict(zip(listing.labels["splits"]["item"], listing.labels["splits"]["role"], strict=True))
    if "test" not in said.values():
        raise DataError(f"{folder} prescribes no test pictures; the benchmark follows the source's own split.")
    jobs = [Job(item, path, "image", digest(path)) for item, path in sorted(listing.files.items()) if item in said]
    made = working_copies(jobs, FramesConfig(), Limits(), ContentCache(cache / "copies"))
    copies = [one for one in made if not isinstance(one, Failed)]
    media = {path: file for one in copies for path, file in one.files.items()}
    frames = tables_of([row for one in copies for row in one.frames], [])[0]
    items = frames["item_id"].tolist()
    near = near_duplicate_groups(frames["phash"].tolist(), SplitsConfig().near_duplicate_bits)
    groups = [f"{group} {said[item]}" for group, item in zip(near.tolist(), items, strict=True)]
    table = {"item_id": items, "group_id": groups, "role": [said[item] for item in items], "fold": 0}
    roles = Roles(pd.DataFrame(table))
    sounds = pd.DataFrame(columns=["item_id", "path", "seconds", "sha256"])
    needed = {name.removesuffix("_bands") for name in types}
    store, tables = FeatureCache(cache / "features"), (frames, sounds, media)
    whole = {
        name: extract_rows(fit(family, *tables, roles, store), *tables, store)
        for name, family in FAMILIES.items()
        if name in needed
    }
    looks = dict(zip(items, frames["phash"].tolist(), strict=True))
    parts = {name: _part(name, whole) for name in types}
    return Described(recognise(folder), listing.labels.restricted_to(items), roles, looks, parts)


def _part(name: str, whole: Mapping[str, FeatureMatrix]) -> FeatureMatrix:
    """The columns of a type: all that its family has, of the whole picture, or of the bands."""
    if name in JEC or (f"{name}_bands" not in SETS["rich"] and not name.endswith("_bands")):
        return whole[name]
    matrix = whole[name.removesuffix("_bands")]
    banded = name.endswith("_bands")
    columns = [place for place, column in enumerate(matrix.names) if column.startswith(BANDS) == banded]
    names = tuple(matrix.names[place] for place in columns)
    return FeatureMatrix(matrix.ids, names, np.ascontiguousarray(matrix.values[:, columns]))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
