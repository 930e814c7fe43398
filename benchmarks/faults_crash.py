"""Every state in which a crash can leave the disk: a shim that stops at each step of a write.

`watched` wraps the calls by which Python changes a disk (open for writing, rename, fsync, link, chmod, remove) and
calls a hook before and after each of them; further calls, such as those of MLflow's client, can be named as steps, too.
`CrashStates` uses it to copy a folder at each step, in three forms: as a killed process leaves it; as a power failure
leaves it that loses content which was not synced; and as one that loses names in folders which were not synced.
`kill_at` kills the process itself at one step, `fail_at` lets one step fail.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from mediarank import disk

Hook = Callable[[str, tuple[Any, ...]], None]

CALLS = ("replace", "rename", "fsync", "mkdir", "unlink", "remove", "rmdir", "link", "symlink", "chmod")


More = Sequence[tuple[Any, str]]
"""Objects, and the names of their functions that count as steps, too."""


@contextmanager
def watched(before: Hook, after: Hook = lambda name, arguments: None, more: More = ()) -> Iterator[None]:
    """Call the hooks around each step; what a hook does itself is no step."""
    inside = False

    def hooked(hook: Hook, name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal inside
        inside = True
        try:
            hook(name, arguments)
        finally:
            inside = False

    def wrapped(name: str, call: Callable[..., Any], counts: Callable[..., bool] = lambda *_: True) -> Any:
        def step(*arguments: Any, **options: Any) -> Any:
            if inside or not counts(*arguments):
                return call(*arguments, **options)
            hooked(before, name, arguments)
            done = call(*arguments, **options)
            hooked(after, name, arguments)
            return done

        return step

    with ExitStack() as stack:
        for name in CALLS:
            stack.enter_context(mock.patch.object(os, name, wrapped(name, getattr(os, name))))
        creates = wrapped("create", os.open, lambda _, flags=0, *rest: bool(flags & os.O_CREAT))
        stack.enter_context(mock.patch.object(os, "open", creates))
        writes = wrapped("open", io.open, lambda _, mode="r", *rest: bool(set(mode) & set("wax+")))
        for module in (io, builtins):
            stack.enter_context(mock.patch.object(module, "open", writes))
        for name in ("_exchange", "_sync_file_system"):
            stack.enter_context(mock.patch.object(disk, name, wrapped(name, getattr(disk, name))))
        for owner, name in more:
            stack.enter_context(mock.patch.object(owner, name, wrapped(name, getattr(owner, name))))
        yield


@dataclass
class CrashStates:
    """Copies of `folder` at each step of a write, below `states`: `0003-killed`, `0003-content`, `0003-names`."""

    folder: Path
    states: Path
    steps: int = 0
    _content: dict[int, bytes] = field(default_factory=dict)  # inode -> what was synced last
    _names: dict[int, set[str]] = field(default_factory=dict)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Take copies before each step, and at the end."""
        self._note_all()
        with watched(lambda *_: self._take(), self._after):
            yield
        self._take()

    def _after(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "fsync":
            self._note(Path(f"/proc/self/fd/{arguments[0]}").readlink())
        elif name == "_sync_file_system":
            self._note_all()

    def _note_all(self) -> None:
        for path in [self.folder, *self.folder.rglob("*")]:
            self._note(path)

    def _note(self, path: Path) -> None:
        if path.is_dir():
            self._names[path.stat().st_ino] = {child.name for child in path.iterdir()}
        elif path.is_file():
            self._content[path.stat().st_ino] = path.read_bytes()

    def _take(self) -> None:
        for loses in ("killed", "content", "names"):
            self._copy(self.folder, self.states / f"{self.steps:04d}-{loses}", loses)
        self.steps += 1

    def _copy(self, source: Path, target: Path, loses: str) -> None:
        target.mkdir(parents=True)
        synced = self._names.get(source.stat().st_ino, set())
        for child in source.iterdir():
            if loses == "names" and child.name not in synced:
                continue
            if child.is_dir():
                self._copy(child, target / child.name, loses)
            elif loses == "killed" or self._content.get(child.stat().st_ino) == child.read_bytes():
                shutil.copyfile(child, target / child.name)
            else:  # a third of what was not synced; what was synced stays if the rest was appended to it
                content, kept = child.read_bytes(), self._content.get(child.stat().st_ino, b"")
                kept = kept if content.startswith(kept) else b""
                (target / child.name).write_bytes(content[: len(kept) + (len(content) - len(kept)) // 3])


@contextmanager
def kill_at(step: int, more: More = ()) -> Iterator[list[int]]:
    """Kill this process with SIGKILL before the step of that number; yields the count of steps so far."""
    count = [0]

    def before(name: str, arguments: tuple[Any, ...]) -> None:
        if count[0] == step:
            os.kill(os.getpid(), signal.SIGKILL)
        count[0] += 1

    with watched(before, more=more):
        yield count


@contextmanager
def fail_at(step: int, code: int) -> Iterator[list[int]]:
    """Let the step of that number fail with an error of the system; yields the count of steps so far."""
    count = [0]

    def before(name: str, arguments: tuple[Any, ...]) -> None:
        count[0] += 1
        if count[0] - 1 == step:
            raise OSError(code, os.strerror(code), str(arguments[0]) if arguments else None)

    with watched(before):
        yield count
