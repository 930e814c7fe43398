"""Shards that DVC's cache already has, so that `collect` and `frames` need not write them again.

DVC removes a stage's outputs before it runs the stage, but not from its cache. A shard's name follows from its content.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from mediarank.ops.versions.lockfile import LOCK, parse_yaml
from mediarank.ops.versions.objects import Objects
from mediarank.types import MediarankError


class KeptShards:
    """Name of a shard -> the file in DVC's cache that holds it, or None; DVC is imported only outside `mediarank run`.

    folder : of the shards, as dvc.lock names it
    """

    def __init__(self, root: Path, folder: str) -> None:
        self._root, self._folder = root.resolve(), folder
        self._objects = Objects(self._root)
        self._known: dict[str, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._objects.__exit__(kind, error, trace)

    def __call__(self, name: str) -> Path | None:
        if self._known is None:
            self._known = self._listed()
        path = self._objects.path(self._known[name]) if name in self._known else None
        return path if path is not None and path.is_file() else None

    def _listed(self) -> dict[str, str]:
        """The shards of the current lock: name -> DVC's hash."""
        if not (self._root / LOCK).exists():
            return {}
        try:
            stages = parse_yaml((self._root / LOCK).read_bytes(), LOCK).get("stages") or {}
            outs = [
                out for stage in stages.values() for out in stage.get("outs", ()) if out.get("path") == self._folder
            ]
            here = [str(out["md5"]) for out in outs if self._objects.path(str(out["md5"])).exists()]
            return self._objects.listing(here[0]) if here else {}
        except MediarankError:  # then they are written
            return {}
