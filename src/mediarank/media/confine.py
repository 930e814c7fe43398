"""Take rights away from this process for good, so that a decoder taken over by a file can do little harm.

Landlock allows only the named files and those that Python itself reads; seccomp allows no sockets, no other programs
and no access to other processes. Both are features of Linux: `confine` returns which of them are in force, and where
the kernel has neither, none is.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # Landlock's calls have the same numbers on every architecture
_NO_NEW_PRIVS, _SET_SECCOMP = 38, 22
_READ: Final = 1 << 2 | 1 << 3  # files, folders
_ALL: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Every file right that a version of Landlock knows; later versions add none that matters here."""
_OF_FILE: Final = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_TCP: Final = 0b11
_FORBIDDEN: Final = {
    # socket, connect, execve, execveat, ptrace, process_vm_readv, process_vm_writev, io_uring_setup
    "x86_64": (0xC000003E, (41, 42, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 117, 270, 271, 425)),
}
_X32: Final = 0x40000000
"""On x86-64 the same calls have second numbers from here on, which no program here uses."""
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/null", "/dev/urandom", "/opt")


@dataclass(frozen=True)
class Confinement:
    """The files that a decoding process may use: folders or files to read, folders to write below."""

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


def folders_of(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The folders of the files that the paths lead to, through links; without repeats."""
    return tuple(sorted({path.resolve().parent for path in paths}))


def confine(allowed: Confinement) -> str:
    """Give up all rights except those; returns what is in force, in words."""
    if sys.platform != "linux":
        return "nothing: this system has neither Landlock nor seccomp"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    return f"{_landlock(libc, allowed)}; {_seccomp(libc)}"


def _landlock(libc: ctypes.CDLL, allowed: Confinement) -> str:
    version = libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return "no Landlock: it can read and write what its user can"
    rights = _ALL[min(version, 5)]
    rules = struct.pack("QQ", rights, _TCP if version >= 4 else 0)[: 16 if version >= 4 else 8]
    ruleset = libc.syscall(_CREATE, rules, len(rules), 0)
    if ruleset < 0:
        return "no Landlock: it can read and write what its user can"
    # Python looks for modules in the current folder if it was started with -m; that is the project, with its passwords.
    modules = [path for path in sys.path if path and Path(path).resolve() != Path.cwd()]
    own = [Path(__file__).parents[2], *map(Path, (*_SYSTEM, sys.prefix, sys.base_prefix, *modules))]
    for path in (*own, *allowed.readable):
        _allow(libc, ruleset, path, _READ & rights)
    for path in allowed.writable:
        _allow(libc, ruleset, path, rights & ~1)  # everything except running programs
    _allow(libc, ruleset, Path(os.devnull), _READ | 1 << 1)
    done = libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return f"Landlock {version}: only its own files" if done else "no Landlock: it can read and write what its user can"


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not available on this system
        return
    try:
        wanted = rights if path.is_dir() else rights & _OF_FILE
        libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", wanted, handle), 0)
    finally:
        os.close(handle)


def _seccomp(libc: ctypes.CDLL) -> str:
    """A filter that refuses some system calls with EACCES; an unknown architecture gets none."""
    if platform.machine() not in _FORBIDDEN:
        return "no seccomp filter for this processor"
    architecture, calls = _FORBIDDEN[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 13
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, refuse), (load, 0, 0, 0)]
    steps += [(at_least, len(calls) + 1, 0, _X32)]
    steps += [(equal, len(calls) - k, 0, call) for k, call in enumerate(calls)]
    steps += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    done = libc.prctl(_SET_SECCOMP, 2, ctypes.c_char_p(program), 0, 0) == 0
    return "seccomp: no sockets, no programs" if done else "no seccomp filter"
