"""Find what a person named: an item of the collection, in any of the usual spellings, or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.media.shards import Media
from mediarank.types import DataError

MEDIA: Final = "raw/media"
"""Where originals are, below the data folder."""


@dataclass(frozen=True)
class Asked:
    """What was named.

    item : its id, if it is in the collection
    path : of the file, if it is not
    """

    given: str
    item: str | None = None
    path: Path | None = None

    @property
    def id(self) -> str:
        """The id that its rows have: the item's, or one that stands for the file."""
        return self.item if self.item is not None else "file"


def resolve(
    given: str,
    items: Iterable[str],
    data: Path = Path("data"),
    own: Callable[[str], str | None] = lambda _: None,
) -> Asked:
    """The item or file that is meant.

    It can be an item's id, its path below `data/raw/media`, the user's own path of it, a bare file name that only one
    item has, or the path of a file outside the collection.

    own : the user's own path -> the item, or None
    """
    known = items if isinstance(items, set | frozenset) else set(items)
    written = given.removeprefix("./")
    inside = _below(written, data / MEDIA)
    for candidate in (written, inside):
        if candidate in known:
            return Asked(given, item=candidate)
    if inside is None and Path(given).is_file():
        if (item := own(given)) in known and item is not None:
            return Asked(given, item=item)
        return Asked(given, path=Path(given))
    same = sorted(item for item in known if PurePosixPath(item).name == written)
    if len(same) == 1:
        return Asked(given, item=same[0])
    if same:
        raise DataError(f"{given} could be any of {len(same)} items, such as {', '.join(same[:3])}; give the whole id.")
    raise DataError(f"{given} is neither an item of the collection nor a file.{did_you_mean(inside or written, known)}")


def own_name(originals: Media, source: Path, path: str) -> str:
    """Where the user has an original, if it is still there; else its path in the collection.

    source : the folder that collection.path names
    """
    origin = originals.origin(path) if path in originals else ""
    own = source / origin
    return str(own) if origin and own.is_file() else path


def match_name(given: str, names: Sequence[str], what: str) -> str:
    """The name that is meant, ignoring case; a near miss gets a hint."""
    if given in names:
        return given
    same = [name for name in names if name.casefold() == given.casefold()]
    if len(same) == 1:
        return same[0]
    if same:
        raise DataError(f"{given!r} could be any of {', '.join(same)}; write it as one of these.")
    hint = did_you_mean(given, names)
    some = f" There are {len(names)}, such as {', '.join(sorted(names)[:10])}." if names and not hint else ""
    raise DataError(f"There is no {what} {given!r}.{hint}{some} `mediarank names` lists them all.")


def did_you_mean(given: str, known: Iterable[str], limit: int = 100_000) -> str:
    """A hint at the nearest names, comparing file names too; empty if no name is near."""
    some = sorted(known)[:limit]
    near = get_close_matches(given, some, n=3)
    if not near:
        by_name: dict[str, str] = {}
        for item in some:
            by_name.setdefault(PurePosixPath(item).name, item)
        near = [by_name[name] for name in get_close_matches(PurePosixPath(given).name, list(by_name), n=3)]
    return f" Did you mean {', '.join(near)}?" if near else ""


def _below(written: str, folder: Path) -> str | None:
    """The path below the folder of originals, if it is there."""
    for prefix in (f"{folder.as_posix()}/", f"{folder.resolve().as_posix()}/"):
        if written.startswith(prefix):
            return written.removeprefix(prefix)
    return None
