"""The shortlist that searches a very large collection: built once a version of its features, and kept."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mediarank import store
from mediarank.ops.versions.lockfile import read_lock
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.live import LiveRanker

INDEX: Final = "index.faiss"
ARRAYS: Final = "projection.npz"
MEASURED: Final = 20
"""Items of a search by which a new shortlist is measured."""


def open_shortlist(live: LiveRanker, root: Path, folder: Path, say: Callable[[str], None]) -> Shortlist:
    """The shortlist of the features that dvc.lock names; if there is none yet it is built, measured and kept.

    folder : where it is kept; those of other versions are removed
    """
    kept = folder / _version(live, root)
    if not kept.is_dir():
        began = time.monotonic()
        made = Shortlist.build([matrix.values for matrix in live.matrices])
        shutil.rmtree(folder, ignore_errors=True)
        with store.atomic_folder(kept) as temporary:
            _write(made, temporary)
        seconds, found = time.monotonic() - began, live.recall(made, MEASURED)
        say(f"A shortlist of {len(live.matrices[0]):,} items was built in {seconds:.0f} s.")
        say(f"It finds {found:.1%} of the first {MEASURED} that a search of everything finds.")
    return _read(kept)


def _version(live: LiveRanker, root: Path) -> str:
    outs = read_lock(root).outs("data/features")
    versions = [outs.get(f"data/features/{name}") for name in live.features]
    return hashlib.sha256(repr((live.features, versions)).encode()).hexdigest()[:24]


def _write(shortlist: Shortlist, folder: Path) -> None:
    import faiss

    faiss.write_index(shortlist.index, str(folder / INDEX))
    store.write_arrays(folder / ARRAYS, {"projection": shortlist.projection, "type_weights": shortlist.type_weights})


def _read(folder: Path) -> Shortlist:
    import faiss

    arrays = store.read_arrays(folder / ARRAYS)
    return Shortlist(faiss.read_index(str(folder / INDEX)), arrays["projection"], arrays["type_weights"])
