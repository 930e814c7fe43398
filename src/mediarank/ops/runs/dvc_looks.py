"""Let DVC look at a dependency as often as needed, and no more: hashing a large folder takes seconds each time.

DVC asks for the hash of a dependency at every question, several times before a stage's command and several times after
it. Within one step the first answer counts. Between the steps of a run, the answer for a folder outside the project is
kept as long as no file in it has another size, time or inode, the signs by which DVC itself decides to read a file
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mediarank.ops.runs.unchanged_sources import file_states

Build = Callable[..., Any]


def keep_looks(stages: Sequence[Any]) -> None:
    """Let these stages keep what DVC found in folders outside the project; for as long as these objects are used."""
    from dvc.dependency.base import Dependency

    for stage in stages:
        for dependency in (each for each in stage.deps if type(each) is Dependency):  # not settings or imports
            if not dependency.is_in_repo and dependency.fs.protocol == "local" and dependency.isdir():
                dependency._build = _while_unchanged(dependency._build, dependency.fs_path)


@contextmanager
def looked_at_once(dependencies: Sequence[Any]) -> Iterator[None]:
    """Let DVC hash each of them once.

    Nothing is missed: a source that changes while a stage runs stops the stage (`unchanged_sources.py`).
    """
    before = [vars(dependency).get("_build") for dependency in dependencies]
    for dependency in dependencies:
        dependency._build = _once(dependency._build)
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


def _while_unchanged(build: Build, folder: str) -> Build:
    """The same function, called again only if a file below the folder has changed since."""
    known: list[tuple[object, Any]] = []

    def kept(*arguments: Any, **settings: Any) -> Any:
        now = file_states(folder)  # before it is built, so that a change meanwhile is noticed next time
        if not known or known[0][0] != now:
            known[:] = [(now, build(*arguments, **settings))]
        return known[0][1]

    return kept
