"""How bytes reach the disk, and how they are checked when they come back.

First the faults of the machine, then atomic writes, then checksums. What is promised: after a write has returned, its
value survives a power failure; a process that is killed, or a power failure on the way, leaves the old value or the
new one. A file is complete on the disk before it gets its name, and the name before the call returns. Each checksum is
inside its file and covers all of it, so a damaged file is never taken for a sound one, and other programs can still
read the formats.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mediarank.types import MachineFault

SEAL: Final = "sha256"
"""The key under which a JSON object holds its own checksum."""
_ZIP_SEAL: Final = b"sha256:"
_PARQUET: Final = b"PAR1"
_PARQUET_SEAL: Final = b"mediarank-sha256"
_MANY_FILES: Final = 32
"""A folder with more files than this is written out with the whole file system at once, which is faster."""

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
"""Errors of the operating system that no file's content can cause, and what to do about each."""


def machine_fault(error: BaseException) -> MachineFault | None:
    """The error as a fault of the machine, or None if it is not one."""
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, OSError) and error.errno in REMEDIES:
        where = f" ({os.fsdecode(error.filename)})" if error.filename else ""
        return MachineFault(f"{os.strerror(error.errno)}{where}: {REMEDIES[error.errno]}.")
    return None


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; on success it replaces `target`, on failure it is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        sync(temporary)
        temporary.replace(target)
        sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `target`; on success it takes the place of `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        sync_folder(temporary)
        if not target.exists():
            temporary.replace(target)
        elif not _exchange(temporary, target):
            # Without an atomic exchange there is an instant without the folder; its stage would then run again.
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            target.replace(old)
            temporary.replace(target)
            temporary = old
        sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep(folder: Path) -> list[Path]:
    """Remove what killed writers left in `folder`: temporary files and folders of `atomic_path` and `atomic_folder`.

    Only for a caller that knows that nobody else writes there now, such as the holder of the run lock.
    """
    found = [path for path in folder.glob(".*.*") if _is_leftover(path)] if folder.is_dir() else []
    for path in found:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    return found


def _is_leftover(path: Path) -> bool:
    """Whether the name is one that `tempfile` makes: a dot, the target's name, a dot, eight letters, its suffix."""
    stem = path.name.removesuffix(path.suffix) if len(path.suffix) != 9 else path.name
    mark = stem.rsplit(".", 1)[-1]
    return len(mark) == 8 and set(mark) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")


def sync(path: Path) -> None:
    """Have the system write a file's content, or a folder's list of names, to the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives can't do this for folders
            raise
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Have the system write a folder and all that is below it to the disk now."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    if len(files) > _MANY_FILES and _sync_file_system(folder):
        return
    for path in files:
        sync(path)
    for path in [*(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink()), folder]:
        sync(path)


def _sync_file_system(folder: Path) -> bool:
    """Linux's syncfs; False where the system does not have it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        return bool(ctypes.CDLL(None, use_errno=True).syncfs(handle) == 0)
    except (AttributeError, OSError):
        return False
    finally:
        os.close(handle)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step (Linux's renameat2); False where the system can't."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


class Damaged(ValueError):
    """A file's content is not what was written."""


def file_sha256(path: Path) -> str:
    """Of a file of any size, in constant memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_json(value: Any) -> Any:
    """The value with its checksum under `SEAL`, if it is an object; a list stays as it is."""
    if not isinstance(value, dict):
        return value
    plain = json.loads(json.dumps({k: v for k, v in value.items() if k != SEAL}, allow_nan=False))
    return {**plain, SEAL: f"sha256:{_json_digest(plain)}"}


def open_json(content: bytes) -> Any:
    """The value of a JSON file, without its seal. One without a seal is taken as it is: people write JSON, too."""
    value = json.loads(content)
    if isinstance(value, dict) and SEAL in value:
        given = value.pop(SEAL)
        if given != f"sha256:{_json_digest(value)}":
            raise Damaged("its content does not match its checksum")
    elif SEAL.encode() in content and isinstance(value, dict):
        raise Damaged("its checksum is damaged")
    return value


def _json_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def seal_parquet(content: bytes) -> bytes:
    """Insert a checksum of all the rest between the data and the footer, where readers of parquet do not look."""
    cut = _footer_start(content)
    digest = hashlib.sha256(content).digest()
    return content[:cut] + _PARQUET_SEAL + digest + content[cut:]


def open_parquet(content: bytes) -> memoryview:
    """The content of a sealed parquet file, after its checksum has been compared."""
    cut = _footer_start(content)
    start = cut - len(_PARQUET_SEAL) - 32
    if start < 0 or content[start : start + len(_PARQUET_SEAL)] != _PARQUET_SEAL:
        raise Damaged("it has no checksum of mediarank")
    digest = hashlib.sha256(memoryview(content)[:start])
    digest.update(memoryview(content)[cut:])
    if digest.digest() != content[cut - 32 : cut]:
        raise Damaged("its content does not match its checksum")
    return memoryview(content)


def _footer_start(content: bytes) -> int:
    """A parquet file ends with its footer, four bytes of the footer's length, and PAR1."""
    if len(content) < 12 or content[:4] != _PARQUET or content[-4:] != _PARQUET:
        raise Damaged("it is no whole parquet file")
    cut = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if cut < 4:
        raise Damaged("its footer is damaged")
    return cut


def seal_zip(content: bytes) -> bytes:
    """A zip archive without a comment gets a checksum of all the rest as its comment."""
    size = len(_ZIP_SEAL) + 64
    content = content[:-2] + size.to_bytes(2, "little")
    return content + _ZIP_SEAL + hashlib.sha256(content).hexdigest().encode()


def open_zip(content: bytes) -> zipfile.ZipFile:
    """A sealed zip archive, after its checksum has been compared."""
    size = len(_ZIP_SEAL) + 64
    if content[-size:-64] != _ZIP_SEAL:
        raise Damaged("it has no checksum of mediarank")
    if hashlib.sha256(memoryview(content)[:-size]).hexdigest().encode() != content[-64:]:
        raise Damaged("its content does not match its checksum")
    return zipfile.ZipFile(io.BytesIO(content))
