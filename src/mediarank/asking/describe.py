"""The only way from files to vectors: working copies as `frames` makes them, vectors as `features` makes them.

`Copying` holds the settings for working copies; those for vectors are stored beside the vectors. `describe` decodes
files in guarded child processes, with all frames of a clip and its sound, and gives one matrix per feature type, bit
by bit as the pipeline would. `compare_with_items` shows this: for files whose content is in the collection, it gives
the greatest difference to the items' own rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mediarank.asking.workspace import Workspace
from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_rows
from mediarank.media.confine import Confinement, folders_of
from mediarank.media.files import File
from mediarank.media.frames import FramesConfig, WorkingCopies, make_working_copies, tables
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.image import Pixels
from mediarank.media.limits import Limits
from mediarank.media.probe import probe
from mediarank.media.working import read_picture, read_sound
from mediarank.types import DataError, FeatureMatrix, Floats


@dataclass(frozen=True)
class Copying:
    """How an original becomes working copies: the settings of the stage `frames`."""

    frames: FramesConfig = field(default_factory=FramesConfig)
    limits: Limits = field(default_factory=Limits)


def describe(workspace: Workspace, files: Mapping[str, Path], types: Sequence[str]) -> dict[str, FeatureMatrix]:
    """Feature type -> the vectors of files; one row per file, or per frame where the type keeps frames.

    files : the id that a file's rows get -> where the file is
    A file without the modality of a type, such as a picture for a type of sounds, has no row there.
    """
    made = _working_copies(files, workspace.copying())
    copies = {path: file for each in made for path, file in each.files.items()}
    frames, sounds = [row for each in made for row in each.frames], [each.sound for each in made if each.sound]
    return describe_copies(workspace, *tables(frames, sounds), copies, types)


def look(path: Path, copying: Copying) -> tuple[Pixels | None, Floats | None]:
    """The picture (of a clip, the middle frame) and the sound of a file, as the pipeline sees them."""
    (made,) = _working_copies({"file": path}, copying)
    pictures, sound = made.frames, made.sound
    return (
        read_picture(made.files[pictures[len(pictures) // 2].path]) if pictures else None,
        read_sound(made.files[sound.path]) if sound else None,
    )


def _working_copies(files: Mapping[str, Path], copying: Copying) -> list[WorkingCopies]:
    """Working copies of files, by id, decoded in guarded child processes."""
    work = partial(_copies, copying=copying)
    confinement = Confinement(folders_of(files.values()))
    outcomes = guarded_map(
        work, list(files.items()), "describe", copying.limits.timeout_seconds, confinement=confinement
    )
    made = []
    for path, outcome in zip(files.values(), outcomes, strict=True):
        if isinstance(outcome, Failed):
            raise DataError(f"{path} can't be used: {outcome.reason}")
        made.append(outcome)
    return made


def describe_copies(
    workspace: Workspace,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    types: Sequence[str],
    cache: FeatureCache | None = None,
) -> dict[str, FeatureMatrix]:
    """The vectors of working copies, using what the stage `features` fitted."""
    return {name: extract_rows(workspace.feature_type(name), frames, sounds, media, cache) for name in types}


@dataclass(frozen=True)
class Described:
    """How one file is described by one feature type.

    rows, dimensions : how many vectors, and how long
    digest : hash of the vectors' bytes
    item : the item of the collection with the same content, if there is one
    difference : the greatest difference to the item's own vectors
    """

    file: str
    feature: str
    rows: int
    dimensions: int
    digest: str
    item: str | None = None
    difference: float | None = None


def compare_with_items(workspace: Workspace, paths: Sequence[Path], types: Sequence[str]) -> list[Described]:
    """Describe files, and compare those whose content is in the collection with the items' own rows."""
    files = {f"file{k:05d}": path for k, path in enumerate(paths)}
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path} is not a file.")
    described = describe(workspace, files, types)
    usable = workspace.manifest.usable
    items = dict(zip(usable["sha256"], usable["item_id"], strict=True))
    found = []
    for name, path in files.items():
        item = items.get(hashlib.sha256(path.read_bytes()).hexdigest())
        for kind in types:
            rows = _rows(described[kind], name)
            if len(rows):
                digest = hashlib.sha256(np.ascontiguousarray(rows, "<f4").tobytes()).hexdigest()
                own = None if item is None else _rows(workspace.matrices[kind], item)
                difference = None if own is None else _difference(rows, own)
                found.append(Described(str(path), kind, len(rows), rows.shape[1], digest, item, difference))
    return found


def _rows(matrix: FeatureMatrix, item: str) -> np.ndarray[Any, Any]:
    """The rows of an item or of its frames; ids are sorted, so frames follow their item."""
    if item in matrix:
        return matrix.rows([item])
    first, last = np.searchsorted(matrix.ids, [f"{item}#", f"{item}$"])  # "$" is the character after "#"
    return np.asarray(matrix.values[first:last])


def _difference(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    return float(np.abs(one - other).max()) if one.shape == other.shape else float("inf")


def _copies(job: tuple[str, Path], copying: Copying) -> WorkingCopies:
    name, source = job
    kind = probe(source, copying.limits).kind
    return make_working_copies(name, source, kind, copying.frames, copying.limits)
