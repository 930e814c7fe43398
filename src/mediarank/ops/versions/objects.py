"""Contents by DVC's hash: from the cache, or else from the remote.

A lock names the outputs of a version by hash. `Objects` turns hashes into bytes, whatever version they belong to and
whether or not it is checked out. Contents from the remote are kept in the cache, and every content is compared with its
hash before it is returned: a damaged cache file is fetched again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from mediarank.ops.versions.lockfile import content_hash
from mediarank.types import DataError

FOLDER = ".dir"
"""The ending of DVC's hash of a folder, which is that of a JSON list of its files and their hashes."""
CACHE_VARIABLE: Final = "MEDIARANK_DVC_CACHE"
"""Set for the command of a stage to `cache_note`, so that a stage finds contents without importing DVC."""


def cache_note(repo: Any) -> str:
    """The root of an open DVC repository and the folder of its cache, as a list in JSON."""
    return json.dumps([str(Path(repo.root_dir).resolve()), repo.cache.local.path])


class MissingObject(DataError):
    """A content is neither in DVC's cache nor in the remote."""


class Objects:
    """The contents that the project at `root` knows of.

    remote : name of the DVC remote to ask; by default the project's own

    DVC is imported when it is first needed.
    """

    def __init__(self, root: Path, remote: str | None = None) -> None:
        self._root = root
        self._remote_name = remote
        self._stack = ExitStack()
        self._opened: Any = None
        self._unreachable: DataError | None = None

    def __enter__(self) -> Objects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def path(self, oid: str) -> Path:
        """The path of a content in the cache, whether or not it exists."""
        return self._cache / oid[:2] / oid[2:]

    def read(self, oid: str) -> bytes:
        """A whole content; fetched if it is missing or damaged here."""
        content = self._read(oid)
        if content is None:
            self.drop([oid])
            self.fetch([oid])
            content = self._read(oid)
        if content is None:
            raise MissingObject(
                f"The content {oid} is neither in DVC's cache nor in the remote; where it was made, run: dvc push"
            )
        return content

    def listing(self, oid: str) -> dict[str, str]:
        """The files of a folder: path below it -> hash."""
        return {str(row["relpath"]): str(row["md5"]) for row in json.loads(self.read(oid))}

    def expanded(self, outs: Mapping[str, str]) -> dict[str, str]:
        """Every file of some outputs, path -> hash; folders are opened."""
        files: dict[str, str] = {}
        for path, oid in outs.items():
            if oid.endswith(FOLDER):
                files |= {f"{path}/{name}": each for name, each in self.listing(oid).items()}
            else:
                files[path] = oid
        return files

    def fetch(self, oids: Iterable[str]) -> set[str]:
        """Fetch contents that the cache lacks from the remote; returns those that are missing there too."""
        lacking = {oid for oid in oids if not self.path(oid).exists()}
        if not lacking:
            return set()
        if self._unreachable:  # an earlier attempt failed, which may have taken minutes
            raise self._unreachable
        from dvc.fs.callbacks import TqdmCallback
        from dvc_data.hashfile.hash_info import HashInfo

        repo = self._repo
        try:
            remote = repo.cloud.get_remote_odb(self._remote_name, "fetch")
            cache = repo.cache.local
            # Plain files together; a folder's list separately, or DVC would fetch the whole folder.
            plain = {HashInfo("md5", oid) for oid in lacking if not oid.endswith(FOLDER)}
            if plain:
                with TqdmCallback(desc="Fetching", unit="file") as progress:
                    repo.cloud.transfer(remote, cache, plain, verify=True, cache_odb=cache, callback=progress)
            for oid in (oid for oid in lacking if oid.endswith(FOLDER)):
                with suppress(FileNotFoundError):
                    # Unlike `exists`, which treats a remote that does not answer as an empty one.
                    remote.fs.info(remote.oid_to_path(oid))
                    cache.add(remote.oid_to_path(oid), remote.fs, oid, verify=True)
        except Exception as error:  # each kind of remote has its own errors
            self._unreachable = DataError(
                f"{len(lacking)} contents are not in DVC's cache, and the remote can't be asked: {error}\n"
                "What to do: check the remote's address (dvc remote list) and that it can be reached."
            )
            raise self._unreachable from error
        return {oid for oid in lacking if not self.path(oid).exists()}

    def drop(self, oids: Iterable[str]) -> None:
        """Remove damaged contents from the cache."""
        for oid in oids:
            self.path(oid).unlink(missing_ok=True)

    def _read(self, oid: str) -> bytes | None:
        try:
            content = self.path(oid).read_bytes()
        except FileNotFoundError:
            return None
        return content if content_hash(content) == oid.removesuffix(FOLDER) else None

    @cached_property
    def _cache(self) -> Path:
        """The folder of DVC's cache, from the process that runs DVC if it has opened the same project."""
        root, folder = json.loads(os.environ.get(CACHE_VARIABLE) or '["", ""]')
        return Path(folder if root == str(self._root.resolve()) else self._repo.cache.local.path)

    @property
    def _repo(self) -> Any:
        if self._opened is None:
            from dvc.exceptions import DvcException
            from dvc.repo import Repo

            try:
                self._opened = self._stack.enter_context(Repo(str(self._root)))
            except DvcException as error:
                raise DataError(f"{self._root} is no DVC project: {error}") from error
        return self._opened
