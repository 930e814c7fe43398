"""Writing to disk: faults of the machine, atomic writes, and removal of files that killed writers left behind.

Guarantees: after a write has returned, its value survives a power failure; a process that is killed, or a power failure
during a write, leaves the old value or the new one. A file is complete on the disk before it gets its name, and the
name is on the disk before the call returns.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mediarank.types import MachineFault

_MANY_FILES: Final = 32
"""If a folder has more files than this, the whole file system is synced at once, which is faster."""

_UNFINISHED: Final[ContextVar[frozenset[Path]]] = ContextVar("_UNFINISHED", default=frozenset())
"""The temporary folders that are being filled; no other process reads them before they are renamed."""

_MAKE_ROOM: Final = "free disk space and run it again"
_REPAIR_DISK: Final = "check the disk or the network drive (dmesg), and run it again"
_FEWER_FILES: Final = "raise the limit (ulimit -n), or use fewer processes (MEDIARANK_JOBS), and run it again"
MORE_MEMORY: Final = "end other programs, or use fewer processes (MEDIARANK_JOBS), and run it again"
REMEDIES: Final = {
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), and run it again",
    errno.EROFS: "mount the disk so that it can be written to, and run it again",
    errno.EIO: _REPAIR_DISK,
    errno.ESTALE: _REPAIR_DISK,
    errno.ENODEV: _REPAIR_DISK,
    errno.ENXIO: _REPAIR_DISK,
    errno.ETIMEDOUT: _REPAIR_DISK,
    errno.EHOSTDOWN: _REPAIR_DISK,
    errno.ENOTCONN: _REPAIR_DISK,
    errno.EMFILE: _FEWER_FILES,
    errno.ENFILE: _FEWER_FILES,
    errno.ENOMEM: MORE_MEMORY,
    errno.EAGAIN: MORE_MEMORY,
}
"""Errors of the operating system that no file's content can cause, and the remedy for each."""


def machine_fault(error: BaseException) -> MachineFault | None:
    """The error as a fault of the machine, or None if it is not one."""
    from mediarank.types import MachineFault  # imports pandas, which most callers do not need

    if isinstance(error, MachineFault):
        return error
    if isinstance(error, OSError) and error.errno in REMEDIES:
        named = error.filename2 or error.filename  # of a copy or a rename, where it leads to
        where = f" ({os.fsdecode(named)})" if named else ""
        return MachineFault(f"{os.strerror(error.errno)}{where}: {REMEDIES[error.errno]}.")
    return None


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; on success it replaces `target`, on failure it is removed."""
    with scratch(target, tempfile.mkstemp) as temporary:
        yield temporary
        temporary.chmod(0o644)
        inside = any(folder in _UNFINISHED.get() for folder in target.parents)  # then it is synced with its folder
        if not inside:
            sync(temporary)
        temporary.replace(target)
        if not inside:
            sync(target.parent)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `target`; on success it takes the place of `target`."""
    with scratch(target) as temporary:
        before = _UNFINISHED.set(_UNFINISHED.get() | {temporary})
        try:
            yield temporary
        finally:
            _UNFINISHED.reset(before)
        temporary.chmod(0o755)
        sync_folder(temporary)
        if not target.exists():
            temporary.replace(target)
        elif not _exchange(temporary, target):
            # Without an atomic exchange the folder is missing for an instant; its stage would then run again.
            with scratch(target) as old:
                target.replace(old)
                temporary.replace(target)
        sync(target.parent)


@contextmanager
def scratch(target: Path, make: Callable[..., Any] = tempfile.mkdtemp) -> Iterator[Path]:
    """Yield a temporary folder (or a file: `tempfile.mkstemp`) beside `target`; it is removed at the end.

    It is locked as long as this process lives, so that other processes know that it is not left over.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    suffix = "" if make is tempfile.mkdtemp else target.suffix
    while True:
        made = make(prefix=f".{target.name}.", suffix=suffix, dir=target.parent)
        handle, name = (os.open(made, os.O_RDONLY), made) if isinstance(made, str) else made
        temporary = Path(name)
        if _locked(handle, wait=True) and temporary.exists():
            break
        os.close(handle)  # another process has just removed it
    try:
        yield temporary
    finally:
        remove(temporary)
        os.close(handle)


def sweep(target: Path) -> list[Path]:
    """Remove the temporary files and folders that killed writers of `target` have left beside it."""
    suffix = re.escape(target.suffix)
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}({suffix})?")
    return _sweep(path for path in _listed(target.parent) if name.fullmatch(path.name))


def sweep_below(folder: Path, depth: int = 2) -> list[Path]:
    """The same for all targets in a folder and the folders below it, down to `depth`."""
    name = re.compile(r"\..+\.[a-z0-9_]{8}(\.[a-z0-9]+)?")
    here = list(_listed(folder))
    found = _sweep(path for path in here if name.fullmatch(path.name))
    for path in here if depth else []:
        if not path.name.startswith(".") and path.is_dir() and not path.is_symlink():
            found += sweep_below(path, depth - 1)
    return found


def _listed(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.iterdir())) if folder.is_dir() else iter(())


def _sweep(paths: Iterable[Path]) -> list[Path]:
    """Remove those that no living process has locked."""
    swept = []
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # removed by another process, or not ours
            continue
        try:
            if _locked(handle, wait=False):
                remove(path)
                swept.append(path)
        finally:
            os.close(handle)
    return swept


def _locked(handle: int, wait: bool) -> bool:
    """Lock an open file or folder for this process; False if another has it. Without locks, nothing is swept."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder with everything in it, as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make the system write a file's content, or a folder's list of names, to the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives can't do this for folders
            raise
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make the system write a folder and everything below it to the disk now."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    if len(files) > _MANY_FILES and _sync_file_system(folder):
        return
    for path in files:
        sync(path)
    for path in [*(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink()), folder]:
        sync(path)


def _sync_file_system(folder: Path) -> bool:
    """Linux's syncfs; False if the system does not have it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        return bool(ctypes.CDLL(None, use_errno=True).syncfs(handle) == 0)
    except (AttributeError, OSError):
        return False
    finally:
        os.close(handle)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step (Linux's renameat2); False if the system can't."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
