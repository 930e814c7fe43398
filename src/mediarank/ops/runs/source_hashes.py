"""The MD5 of each file of a folder outside the project, kept from one run to the next.

DVC asks its database for every file of a folder, which takes seconds for a large one. Here the hashes of all files are
in one table in `.mediarank/cache/sources`, and only files whose size, time or inode differ are read. The tree made from
them has the same hash and the same listing as DVC's; wherever that is in doubt, DVC makes its own. The table only
saves time: it may be deleted.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from mediarank import store
from mediarank.ops.runs.unchanged_sources import FileState, Listing
from mediarank.types import MediarankError

FRESH_SECONDS: Final = 3.0
"""A file that was changed within these seconds is not kept: a second change could leave the same time."""
MOST_BYTES: Final = 2**28
"""If there is more to read than this, DVC reads it: it shows its progress and reads large files in parallel."""
ALGORITHM: Final = "md5"
DVC_IGNORE: Final = ".dvcignore"

Known = dict[str, tuple[FileState, str]]
"""path below the folder -> its state and its MD5"""


class SourceHashes:
    """The hashes of the files of one folder.

    folder : as DVC names it
    root : the project
    cache : the folder of the tables, one per source
    """

    def __init__(self, folder: str, root: Path, cache: Path) -> None:
        self._folder = folder
        self._above_project = Path(os.path.realpath(root)).is_relative_to(os.path.realpath(folder))
        self._file = cache / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}.npz"

    def build(
        self, listing: Listing, odb: Any, path: str, fs: Any, name: str, *, dry_run: bool = False, **settings: Any
    ) -> Any:
        """What `dvc_data.hashfile.build.build` returns for the folder, or None if DVC must build it.

        The metadata of a single file is its size only: DVC needs no more of a dependency.
        """
        usual = path == self._folder and name == ALGORITHM and dry_run and set(settings) <= {"ignore"}
        if not usual or not self._plain(listing) or not (known := self._read()):
            return None
        now = self._below(listing)
        new = [file for file, state in now.items() if file not in known or known[file][0] != state]
        if sum(now[file][0] for file in new) > MOST_BYTES:
            return None
        try:
            "".join(new).encode()  # DVC's database accepts no other names
            known |= {file: (now[file], _md5(f"{path}/{file}")) for file in new}
        except (OSError, UnicodeEncodeError):  # removed, or it can't be read: DVC reports it
            return None
        removed = len(known) > len(now)
        if removed:
            known = {file: known[file] for file in now}
        if new or removed:
            self._write(known, listing.began)
        return _built(odb, known)

    def keep(self, listing: Listing, tree: Any) -> None:
        """Keep the hashes of a tree that DVC has made after the folder was listed."""
        from dvc_data.hashfile.tree import Tree

        if not self._plain(listing) or not isinstance(tree, Tree):
            return
        now = self._below(listing)
        hashes = {"/".join(key): info for key, _, info in tree}
        if hashes.keys() == now.keys() and all(info.name == ALGORITHM for info in hashes.values()):
            self._write({file: (state, hashes[file].value) for file, state in now.items()}, listing.began)

    def _plain(self, listing: Listing) -> bool:
        """Whether DVC finds exactly the listed files: it ignores some inside the project, and refuses .dvcignore."""
        if not listing.plain or not listing.states or self._above_project:
            return False
        return not any(path.endswith(f"/{DVC_IGNORE}") for path in listing.states)

    def _below(self, listing: Listing) -> dict[str, FileState]:
        start = len(self._folder) + 1
        return {path[start:]: state for path, state in listing.states.items()}

    def _read(self) -> Known:
        if not self._file.exists():
            return {}
        try:
            arrays = store.read_arrays(self._file)
            paths = arrays["paths"].tobytes().decode().split("\0")
            sizes, times, inodes = arrays["states"].T.tolist()
            hashes = arrays["hashes"].tobytes().hex()
            values = [hashes[k : k + 32] for k in range(0, len(hashes), 32)]
            states = zip(sizes, times, inodes, strict=True)
            return dict(zip(paths, zip(states, values, strict=True), strict=True))
        except (MediarankError, KeyError, ValueError, TypeError):  # a damaged table only costs time
            return {}

    def _write(self, found: Known, began: float) -> None:
        latest = (began - FRESH_SECONDS) * 1e9
        rows = [(path, state, value) for path, (state, value) in found.items() if state[1] < latest]
        with suppress(OSError, MediarankError, OverflowError):  # no room, not writable, or an inode above 2**63
            arrays: dict[str, np.ndarray[Any, Any]] = {
                "paths": np.frombuffer("\0".join(path for path, _, _ in rows).encode(), dtype=np.uint8),
                "states": np.array([state for _, state, _ in rows], dtype=np.int64),
                "hashes": np.frombuffer(bytes.fromhex("".join(value for _, _, value in rows)), dtype=np.uint8),
            }
            store.write_arrays(self._file, arrays)


def _md5(path: str) -> str:
    from dvc_data.hashfile.hash import file_md5

    return str(file_md5(path, name=ALGORITHM))


def _built(odb: Any, found: Known) -> Any:
    """The place of the tree, its metadata and the tree, as DVC makes them."""
    from dvc_data.hashfile.build import _get_staging
    from dvc_data.hashfile.db import add_update_tree
    from dvc_data.hashfile.hash_info import HashInfo
    from dvc_data.hashfile.meta import Meta
    from dvc_data.hashfile.tree import Tree

    make_tree: Any = Tree  # DVC does not type it
    tree, size = make_tree(), 0
    for path, (state, value) in found.items():
        tree._dict[tuple(path.split("/"))] = Meta(size=state[0]), HashInfo(ALGORITHM, value)
        size += state[0]
    tree.digest()
    staging = _get_staging(odb)
    return staging, Meta(size=size, nfiles=len(tree), isdir=True), add_update_tree(staging, tree)
