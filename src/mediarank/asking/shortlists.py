"""The shortlist index for very large collections: built once per version of the features, and kept."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from mediarank import store
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.retrieval.live import LiveRanker

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
    if not kept.is_dir():
        began = time.monotonic()
        made = Shortlist.build(list(live.model.rows))
        shutil.rmtree(folder, ignore_errors=True)
        with store.atomic_folder(kept) as temporary:
            _write(made, temporary)
        seconds, found = time.monotonic() - began, live.recall(made, MEASURED)
        say(f"A shortlist of {len(live.ids):,} items was built in {seconds:.0f} s.")
        say(f"It finds {found:.1%} of the first {MEASURED} that a search of everything finds.")
    return _read(kept)


def _write(shortlist: Shortlist, folder: Path) -> None:
    import faiss

    faiss.write_index(shortlist.index, str(folder / INDEX))
    store.write_arrays(folder / ARRAYS, {"projection": shortlist.projection, "type_weights": shortlist.type_weights})


def _read(folder: Path) -> Shortlist:
    import faiss

    arrays = store.read_arrays(folder / ARRAYS)
    return Shortlist(faiss.read_index(str(folder / INDEX)), arrays["projection"], arrays["type_weights"])
