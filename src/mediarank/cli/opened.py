"""Shared by the asking commands: the workspace, and how items and files are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank import store
from mediarank.cli.app import DATA

if TYPE_CHECKING:
    from mediarank.asking.describe import Copying
    from mediarank.asking.items import Asked
    from mediarank.asking.workspace import Workspace

Example = Annotated[str, typer.Argument(help="an item of the collection, or a file")]
Method = Annotated[str | None, typer.Option(help="a fitted method; by default the served one, the best on validation")]


def workspace() -> Workspace:
    """The project's data folder, with the settings of params.yaml for decoding files."""
    from mediarank.asking.workspace import Workspace

    return Workspace(DATA, copying)


def asked(space: Workspace, given: Sequence[str], usable: bool = True) -> list[Asked]:
    """The items or files meant, in any accepted spelling.

    usable : whether an item in quarantine counts as unknown
    """
    from mediarank import config
    from mediarank.asking.items import resolve
    from mediarank.collections.listing import escaped

    items = frozenset((space.manifest.usable if usable else space.manifest.table)["item_id"])

    def own(path: str) -> str | None:
        if not config.PARAMS.exists():
            return None
        source = Path(config.load().collection.path).resolve()
        found = Path(path).resolve()
        inside = found.is_relative_to(source)
        return space.originals.at_origin(escaped(found.relative_to(source).as_posix())) if inside else None

    return [resolve(one, items, DATA, own) for one in given]


def own_names(space: Workspace) -> Callable[[str], str]:
    """Item -> where the user has it, or its id if it is no longer there."""
    from mediarank import config
    from mediarank.asking.items import own_name

    if not config.PARAMS.exists():
        return str
    source = Path(config.load().collection.path)
    return lambda item: own_name(space.originals, source, item)


def thumbnails(space: Workspace) -> Callable[[str], bytes | None]:
    """Item -> a small picture of it."""
    from mediarank import config
    from mediarank.media.thumbnails import thumbnails as made

    return made(space.frames, space.copies, config.load().report.thumbnail_side)


def write_page(path: Path, text: str) -> None:
    store.write_text(path, text)
    print(f"Page: {path}")


def copying() -> Copying:
    """Settings for working copies of files, from params.yaml."""
    from mediarank import config
    from mediarank.asking.describe import Copying

    params = config.load()
    return Copying(params.frames, params.manifest.limits)
