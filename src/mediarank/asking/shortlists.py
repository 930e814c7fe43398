"""The shortlist index for very large collections: built once per version of the features, and kept."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from mediarank import store
from mediarank.seals import file_sha256
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.types import DataError

INDEX: Final = "index.faiss"
ARRAYS: Final = "projection.npz"
MEASURED: Final = 20
"""How many first items of a search are compared when a new shortlist is measured."""


def open_shortlist(
    live: LiveRanker, versions: Mapping[str, str], folder: Path, say: Callable[[str], None]
) -> Shortlist:
    """The shortlist for these versions of the features; built, measured and kept if it does not exist.

    versions : feature type -> the hash of its vectors
    folder : where it is kept; shortlists of other versions are removed
    """
    facts = repr((live.features, [versions.get(name) for name in live.features]))
    kept = folder / hashlib.sha256(facts.encode()).hexdigest()[:24]
    if kept.is_dir():
        with suppress(DataError):  # a damaged one is built again
            return _read(kept)
    began = time.monotonic()
    made = Shortlist.build(list(live.model.rows))
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with store.atomic_folder(kept) as temporary:
            _write(made, temporary)
    except OSError as error:
        say(f"warning: the shortlist can't be kept in {folder} ({error.strerror}), and is built again next time.")
    seconds, found = time.monotonic() - began, live.recall(made, MEASURED)
    say(f"A shortlist of {len(live.ids):,} items was built in {seconds:.0f} s.")
    say(f"It finds {found:.1%} of the first {MEASURED} that a search of everything finds.")
    return made


def _write(shortlist: Shortlist, folder: Path) -> None:
    import faiss

    try:
        faiss.write_index(shortlist.index, str(folder / INDEX))
    except RuntimeError as error:
        raise OSError(None, str(error).splitlines()[0], str(folder / INDEX)) from error
    digest = np.frombuffer(bytes.fromhex(file_sha256(folder / INDEX)), np.uint8)
    weights = {"projection": shortlist.projection, "type_weights": shortlist.type_weights}
    store.write_arrays(folder / ARRAYS, {**weights, "index_sha256": digest})


def _read(folder: Path) -> Shortlist:
    """DataError if it is damaged: FAISS itself would answer wrongly, or crash."""
    import faiss

    arrays = store.read_arrays(folder / ARRAYS)
    index = folder / INDEX
    if not index.exists() or bytes(arrays.get("index_sha256", b"")).hex() != file_sha256(index):
        raise DataError(f"{index} is damaged.")
    return Shortlist(faiss.read_index(str(index)), arrays["projection"], arrays["type_weights"])
