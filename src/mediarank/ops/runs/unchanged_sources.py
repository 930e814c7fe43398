"""A stage fails if its sources change while it runs.

DVC hashes the inputs of a stage when the stage has ended. A picture, a label table, a setting or a line of code that is
changed meanwhile would be recorded with a result made before the change, and would count as up to date for good. So a
stage notes the size and time of all files that it reads from outside the pipeline when it begins, and the values of its
settings, and compares them at the end. Outputs of stages need no such check: DVC keeps them read-only. In `mediarank
run` the process that runs DVC does the same for folders outside the project (`dvc_looks.py`).
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mediarank.ops.versions.lockfile import PARAMS, PLAN, look_up, parse_yaml
from mediarank.types import DataError

STAGE_VARIABLE: Final = "DVC_STAGE"
"""Set by DVC for the command of a stage, to the stage's address."""
WATCHED_VARIABLE: Final = "MEDIARANK_WATCHED"
"""Set for the command of a stage to folders, as a list in JSON, whose changes the process that runs DVC notices."""
OUTPUTS: Final = ("outs", "metrics", "plots")
IGNORED: Final = "__pycache__"

State = Mapping[str, object]
FileState = tuple[int, int, int]
"""Size, time in nanoseconds, inode."""


@contextmanager
def steady_sources(root: Path) -> Iterator[None]:
    """Fail at the end if this stage's inputs from outside the pipeline have changed; do nothing outside DVC."""
    address = os.environ.get(STAGE_VARIABLE, "").rpartition(":")[2]
    if not address:
        yield
        return
    sources = _sources(root, address).without(json.loads(os.environ.get(WATCHED_VARIABLE) or "[]"))
    before = sources.state()
    try:
        yield
    except SystemExit as end:  # how a command line ends, also when it succeeds
        if end.code not in (None, 0):
            raise
        refuse_changes(before, sources.state())
        raise
    refuse_changes(before, sources.state())


@dataclass(frozen=True)
class Sources:
    """Files and folders that a stage reads and no stage makes, and the names of its settings."""

    root: Path
    paths: tuple[str, ...]
    settings: tuple[str, ...]

    def without(self, folders: Sequence[str]) -> Sources:
        """The same without the folders that others watch."""
        rest = (path for path in self.paths if os.path.abspath(self.root / path) not in folders)  # noqa: PTH100
        return replace(self, paths=tuple(rest))

    def state(self) -> State:
        """The current state: size, time and inode of each file, the value of each setting."""
        found: dict[str, object] = {}
        for path in self.paths:
            source = self.root / path
            found |= file_states(str(source)) if source.is_dir() else dict(_states([str(source)]))
        params = _yaml(self.root / PARAMS)
        return found | {f"{PARAMS}: {name}": look_up(params, name) for name in self.settings}


def file_states(folder: str) -> State:
    """The size, time and inode of every file below a folder; removed files and broken links are left out."""
    return list_folder(folder).states


@dataclass(frozen=True)
class Listing:
    """The files below a folder.

    states : of each file; removed files and broken links are left out
    plain : whether all else are folders that were listed: no links, pipes or devices, and no folder was left out
    began : when the listing began, in seconds since 1970
    """

    states: Mapping[str, FileState]
    plain: bool
    began: float


def list_folder(folder: str) -> Listing:
    """List all files below a folder; links to folders are not followed."""
    found: dict[str, FileState] = {}
    began, plain, waiting = time.time(), True, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listed:
                entries = list(listed)
        except OSError:  # removed, or it can't be read
            plain = False
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    if entry.name == IGNORED or entry.is_symlink():
                        plain = False
                    else:
                        waiting.append(entry.path)
                    continue
                state = entry.stat()
            except OSError:  # removed, or a broken link: the comparison notices it
                plain = False
                continue
            found[entry.path] = (state.st_size, state.st_mtime_ns, state.st_ino)
            if entry.is_symlink() or not stat.S_ISREG(state.st_mode):
                plain = False
    return Listing(found, plain, began)


def refuse_changes(before: State, after: State) -> None:
    """Raise a DataError if the two differ."""
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if changed:
        raise DataError(
            f"{len(changed)} of the stage's sources changed while it ran, such as {changed[0]}: its outputs may come "
            "from the old or the new content. Nothing is recorded; run it again when they no longer change."
        )


def _sources(root: Path, address: str) -> Sources:
    """The inputs of a stage from outside the plan: code, the folder of the collection, settings."""
    plan, params = _yaml(root / PLAN).get("stages") or {}, _yaml(root / PARAMS)
    name, _, key = address.partition("@")
    stage = plan.get(name, {})
    stage = stage.get("do", stage)
    made = [out for each in plan.values() for kind in OUTPUTS for out in each.get("do", each).get(kind, ())]
    # An output with settings is a mapping of one; the path before a stage's key is a folder that only stages fill.
    folders = {str(next(iter(out)) if isinstance(out, dict) else out).split("${")[0].rstrip("/") for out in made}
    deps = [_filled_in(str(dep), params, key) for dep in stage.get("deps", ())]
    outside = [dep for dep in deps if not any(f"{dep}/".startswith(f"{folder}/") for folder in folders)]
    settings = [_filled_in(name, params, key) for name in stage.get("params", ()) if isinstance(name, str)]
    return Sources(root, tuple(outside), tuple(settings))


def _filled_in(text: str, params: Mapping[str, Any], key: str) -> str:
    return re.sub(r"\$\{([\w.]+)\}", lambda m: key if m[1] in ("key", "item") else str(look_up(params, m[1])), text)


def _yaml(path: Path) -> dict[str, Any]:
    return parse_yaml(path.read_bytes(), str(path)) if path.exists() else {}


def _states(paths: Iterable[str]) -> Iterator[tuple[str, FileState]]:
    for path in paths:
        try:
            state = os.stat(path)  # noqa: PTH116 - a million Path objects would cost more than the looking
        except OSError:
            continue  # removed, or a broken link: the comparison notices it
        yield path, (state.st_size, state.st_mtime_ns, state.st_ino)
