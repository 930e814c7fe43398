"""The units of work of a feature type, in the order of its rows, and how one is read from its working copies.

A unit is the input of one call of `extract`: a picture, a sound, or consecutive frames of a clip. A clip without bursts
has one unit of all its sampled frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mediarank.features.base import Extractor, LocalExtractor, Modality, fingerprint
from mediarank.features.pixels import resized
from mediarank.media.files import File, Held
from mediarank.media.working import read_picture, read_sound
from mediarank.types import require_columns


class Unit(NamedTuple):
    """The input of one call of `extract`.

    row : id of the row that it belongs to
    paths : of its working copies
    sha256 : of the content of the working copies
    digests : the expected hash of each path's content
    frames : in the picture of a burst, one below the other; 1 for all other pictures
    """

    row: str
    item_id: str
    paths: tuple[str, ...]
    sha256: str
    digests: tuple[str, ...]
    frames: int = 1


def list_units(family: Extractor | LocalExtractor, frames: pd.DataFrame, sounds: pd.DataFrame) -> list[Unit]:
    """All units that the family can describe, sorted by row, the frames of a clip in their order."""
    if family.modality == "sound":
        require_columns(sounds, ("item_id", "path", "sha256"), "the table of sounds")
        table = sounds.sort_values("item_id", kind="stable")
        return [Unit(i, i, (p,), s, (s,)) for i, p, s in table[["item_id", "path", "sha256"]].itertuples(index=False)]
    columns = ["frame_id", "item_id", "kind", "index", "path", "sha256"]
    require_columns(frames, columns, "the table of frames")
    if family.modality == "clip":
        require_columns(frames, ["burst", "burst_frames", "burst_sha256"], "the table of frames")
        clips = frames[frames["kind"] == "clip"].sort_values(["item_id", "index"], kind="stable")
        return [unit for item, group in clips.groupby("item_id", sort=True) for unit in _of_clip(str(item), group)]
    row = "frame_id" if family.pooling() == "none" else "item_id"
    if not frames[row].is_monotonic_increasing or frames[row].duplicated().any():
        frames = frames.assign(row=frames[row]).sort_values(["row", "index"], kind="stable")
    chosen = (frames[name].tolist() for name in (row, "item_id", "path", "sha256"))
    return [Unit(r, i, (p,), s, (s,)) for r, i, p, s in zip(*chosen, strict=True)]


def _of_clip(item: str, frames: pd.DataFrame) -> list[Unit]:
    """One unit per burst, or one of all sampled frames."""
    bursts = frames.loc[frames["burst"] != "", ["burst", "burst_frames", "burst_sha256"]]
    if len(bursts):
        return [
            Unit(item, item, (path,), fingerprint("burst", digest, count), (digest,), int(count))
            for path, count, digest in bursts.itertuples(index=False)
        ]
    digests = tuple(frames["sha256"])
    return [Unit(item, item, tuple(frames["path"]), fingerprint("clip", list(digests)), digests)]


def held(job: Any) -> Any:
    """The same job, (unit, files, …), with the files in memory, for a machine that does not have them."""
    unit, files, *rest = job
    return unit, tuple(Held(path, file.read_bytes()) for path, file in zip(unit.paths, files, strict=True)), *rest


def read_unit(modality: Modality, unit: Unit, files: Sequence[File]) -> Any:
    """The medium of a unit; frames of a clip that differ in size are resized to the size of the first.

    files : the working copies that its paths name
    """
    if modality == "sound":
        return read_sound(files[0], unit.digests[0])
    pictures = [read_picture(file, digest) for file, digest in zip(files, unit.digests, strict=True)]
    if modality == "image":
        return pictures[0]
    if unit.frames > 1:
        return pictures[0].reshape(unit.frames, -1, *pictures[0].shape[1:])
    height, width = pictures[0].shape[:2]
    return np.stack([resized(picture, height, width) for picture in pictures])
