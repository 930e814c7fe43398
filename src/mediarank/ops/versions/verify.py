"""Check that the data match the lock: every file is read; damaged files are fetched again or left to `dvc repro`.

DVC trusts its cache: a file that a failing disk changed there is used as if it were intact, by `dvc checkout` and by a
stage that is restored from the run cache, and then counts as up to date. So damage is found by reading, and damaged
files are removed from the cache first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mediarank.ops.runs.dvc_repair import repair_rwlock
from mediarank.ops.services.environment import STATE
from mediarank.ops.versions.lockfile import dvc_hash, read_lock
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError

Say = Callable[[str], None]

ASIDE: Final = f"{STATE}/damaged"
"""Where files are moved whose content differs from the lock: it may be a change that someone wants to keep."""


@dataclass(frozen=True)
class Verified:
    """How many files were read, which were damaged and fetched again, and which are lost."""

    files: int
    healed: tuple[str, ...]
    gone: tuple[str, ...]

    def summary(self) -> str:
        if self.gone:
            return (
                f"{len(self.gone)} of {self.files} files are damaged or missing, and the remote does not have them, "
                f"such as {self.gone[0]}. dvc repro makes them again; the old content is in {ASIDE}."
            )
        if self.healed:
            return (
                f"{self.files} files are what dvc.lock says; {len(self.healed)} of them had to be fetched again (the "
                f"old content is in {ASIDE})."
            )
        return f"{self.files} files are what dvc.lock says."


def verify(root: Path, remote: str | None = None, say: Say = lambda _: None) -> Verified:
    """Compare every output in the workspace at `root` with the lock, and repair what can be repaired."""
    root = root.resolve()
    if repair_rwlock(root):
        say("DVC's list of files in use was left half-written; it is removed.")
    with Objects(root, remote) as objects:
        files = objects.expanded(read_lock(root).outs())
    return heal(root, files, remote, say)


def heal(root: Path, files: Mapping[str, str], remote: str | None, say: Say) -> Verified:
    """Read files (path below `root` -> hash) and their copies in the cache; fetch damaged ones again."""
    say(f"Verifying {len(files)} files ...")
    with Objects(root, remote) as objects:
        bad = damaged(root, files, objects)
        if not bad:
            return Verified(len(files), (), ())
        say(f"{len(bad)} files are damaged or missing, such as {next(iter(bad))}; fetching them again ...")
        for path, oid in bad.items():
            if objects.path(oid).exists() and _differs(objects.path(oid), oid):
                objects.drop([oid])
            _set_aside(root, path)
        try:
            objects.fetch(bad.values())
        except DataError as error:  # without a remote there is still `dvc repro`
            say(str(error))
        whole = all(objects.path(oid).exists() for oid in bad.values())
    checkout(root, allow_missing=not whole)
    gone = {path for path, oid in bad.items() if _differs(root / path, oid)}
    return Verified(len(files), tuple(path for path in bad if path not in gone), tuple(sorted(gone)))


def damaged(root: Path, files: Mapping[str, str], objects: Objects) -> dict[str, str]:
    """Those of the files whose content differs, here or in the cache, or that are missing here."""

    def whole(path: str) -> bool:
        here, kept = root / path, objects.path(files[path])
        if _differs(here, files[path]):
            return False
        # Linked files are one file; a copy is a second file that can be damaged.
        return not kept.exists() or kept.samefile(here) or not _differs(kept, files[path])

    with ThreadPoolExecutor() as pool:  # hashing releases the interpreter lock
        return {path: files[path] for path, sound in zip(files, pool.map(whole, files), strict=True) if not sound}


def checkout(root: Path, allow_missing: bool = False) -> None:
    """Let DVC put the data of the current lock into the workspace."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(root), _wait_for_lock=True) as repo:
            repo.checkout(force=True, allow_missing=allow_missing)
    except DvcException as error:
        raise DataError(f"DVC can't check the data out: {error}") from error


def _set_aside(root: Path, path: str) -> None:
    if (root / path).exists():
        kept = root / ASIDE / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        (root / path).replace(kept)


def _differs(path: Path, oid: str) -> bool:
    try:
        return dvc_hash(path) != oid
    except OSError:
        return True
