"""Find the item that a name in a label file means; people and programs write names in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import PurePosixPath

from mediarank.collections.listing import escaped
from mediarank.collections.tree import same_name


class Names:
    """Items by the names that label files use for them."""

    def __init__(self, items: Iterable[str]) -> None:
        self._exact = {same_name(item): item for item in items}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Items by file name and stem; made when a name is no item's, which it is in few collections."""
        found: dict[str, list[str]] = {}
        for item in self._exact.values():
            path = PurePosixPath(same_name(item))
            for name in {path.name, path.stem, path.name.casefold(), path.stem.casefold()}:
                found.setdefault(name, []).append(item)
        return found

    def __contains__(self, item: object) -> bool:
        return isinstance(item, str) and same_name(item) in self._exact

    def item(self, text: str) -> str:
        """The item that `text` means, or `text` itself, tidied, if it means no item or more than one.

        It may be a path from the collection's folder, the end of such a path, a bare file name, or any of these
        without the extension; with backslashes or a leading `./`. Case matters at first; if nothing is found, it is
        ignored. It may also be a longer path that ends in an item's, such as the user's own path.
        """
        path = PurePosixPath(text.strip().replace("\\", "/"))
        wanted = same_name(path.as_posix()).lstrip("/")
        if wanted in self._exact:
            return self._exact[wanted]
        for as_compared in (str, str.casefold):
            tail = tuple(as_compared(part) for part in PurePosixPath(wanted).parts)
            near = self._by_name.get(tail[-1], ()) if tail else ()
            found = {item for item in near if _ends_with(item, tail, as_compared)}
            if found:
                return found.pop() if len(found) == 1 else escaped(wanted)
        parts = PurePosixPath(wanted).parts
        ends = ("/".join(parts[start:]) for start in range(1, len(parts)))
        return next((self._exact[end] for end in ends if end in self._exact), escaped(wanted))

    def items(self, lines: Iterable[str]) -> list[str]:
        return [self.item(line) for line in lines]


def _ends_with(item: str, tail: tuple[str, ...], as_compared: Callable[[str], str]) -> bool:
    """Whether the item's path ends in `tail`, with or without its extension."""
    path = PurePosixPath(as_compared(same_name(item)))
    parts = path.parts[-len(tail) :]
    return parts == tail or (*parts[:-1], path.stem) == tail
