"""The part of an archive's arrays that belongs to one component, without reading the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Below(Mapping[str, Any]):
    """The arrays whose names begin with `prefix`, under the rest of their names; each is read when asked for.

    >>> list(Below({"a.x": 1, "a.y": 2, "b.x": 3}, "a."))
    ['x', 'y']
    """

    def __init__(self, arrays: Mapping[str, Any], prefix: str) -> None:
        self._arrays, self._prefix = arrays, prefix

    def __getitem__(self, name: str) -> Any:
        return self._arrays[self._prefix + name]

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
