"""Let DVC look at a dependency as often as needed, and no more: hashing a large folder takes seconds each time.

DVC asks for the hash of a dependency at every question, several times before a stage's command and several times after
it. Within one step the first answer counts. Between the steps of a run, the answer for a folder outside the project is
kept as long as no file in it has another size, time or inode, the signs by which DVC itself decides to read a file
again. If such a folder changes while the stage's commands run, the stage fails: nobody knows what they have read. From
one run to the next, the hashes of its files are kept (`source_hashes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mediarank.ops.runs.source_hashes import SourceHashes
from mediarank.ops.runs.unchanged_sources import State, file_states, list_folder, refuse_changes
from mediarank.ops.services.environment import STATE

Build = Callable[..., Any]


class Look:
    """What DVC found in a folder outside the project; it is built again only if a file in it has changed.

    root : the project, which keeps the hashes of the files
    """

    def __init__(self, build: Build, folder: str, root: Path) -> None:
        self._build, self.folder = build, folder
        self._hashes = SourceHashes(folder, root, root / STATE / "cache/sources")
        self._known: tuple[State, Any] | None = None

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        now = list_folder(self.folder)  # before it is built, so that a change meanwhile is noticed next time
        if self._known is None or self._known[0] != now.states:
            built = self._hashes.build(now, *arguments, **settings) if self._known is None else None
            if built is None:
                built = self._build(*arguments, **settings)
                self._hashes.keep(now, built[2])
            self._known = now.states, built
        return self._known[1]

    def unchanged(self, *arguments: Any, **settings: Any) -> Any:
        """What was found last; DataError if a file has changed since."""
        if self._known is None:
            return self(*arguments, **settings)
        refuse_changes(self._known[0], file_states(self.folder))
        return self._known[1]


def keep_looks(stages: Sequence[Any]) -> None:
    """Let these stages keep what DVC found in folders outside the project; for as long as these objects are used."""
    from dvc.dependency.base import Dependency

    for stage in stages:
        for dependency in (each for each in stage.deps if type(each) is Dependency):  # not settings or imports
            if not dependency.is_in_repo and dependency.fs.protocol == "local" and dependency.isdir():
                dependency._build = Look(dependency._build, dependency.fs_path, Path(stage.repo.root_dir))


def watched(dependencies: Sequence[Any]) -> list[str]:
    """The folders whose changes are noticed here, so that the stage's commands need not look."""
    builds = (vars(dependency).get("_build") for dependency in dependencies)
    return [build.folder for build in builds if isinstance(build, Look)]


@contextmanager
def looked_at_once(dependencies: Sequence[Any], after: bool = False) -> Iterator[None]:
    """Let DVC hash each of them once.

    after : whether the stage's commands have run; then a `Look` must find what it found before them
    """
    before = [vars(dependency).get("_build") for dependency in dependencies]
    for dependency, build in zip(dependencies, before, strict=True):
        dependency._build = _once(build.unchanged if after and isinstance(build, Look) else dependency._build)
    try:
        yield
    finally:
        for dependency, build in zip(dependencies, before, strict=True):
            if build is None:
                del dependency._build
            else:
                dependency._build = build


def _once(build: Build) -> Build:
    """The same function, called once: DVC builds a dependency with the same arguments each time."""
    built: list[Any] = []

    def once(*arguments: Any, **settings: Any) -> Any:
        if not built:
            built.append(build(*arguments, **settings))
        return built[0]

    return once
