"""The registry of sources, how one is recognised, and the configuration that chooses one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from mediarank.collections import (
    caltech101,
    corel5k,
    esc50,
    espgame,
    holidays,
    iaprtc12,
    keyframes,
    osr,
    pubfig,
    zap50k,
)
from mediarank.collections import folder as folder_source
from mediarank.collections.containment import irregular_below, require_inside
from mediarank.collections.demo.plan import DemoConfig
from mediarank.collections.file_facts import FileFacts
from mediarank.collections.layout import ClassRule
from mediarank.collections.listing import Listing, escaped
from mediarank.collections.tree import Skipped, media_below
from mediarank.labels import Labels
from mediarank.types import ConfigError

AUTO: Final = "auto"
FOLDER: Final = "folder"
DEMO: Final = ("demo", "A generated collection of drawn pictures, clips and sounds, with labels known by construction.")


class Source(Protocol):
    """A module that reads one layout; the first line of its docstring says what it is."""

    __doc__: str | None

    def recognises(self, folder: Path) -> bool:
        """Whether the folder has this layout, judged by the names of its files."""

    def read(self, folder: Path) -> Listing:
        """The items and labels; a missing file is an error that says what is expected."""


COLLECTIONS: Final[Mapping[str, Source]] = {
    "osr": osr,
    "pubfig": pubfig,
    "zap50k": zap50k,
    "corel5k": corel5k,
    "espgame": espgame,
    "iaprtc12": iaprtc12,
    "caltech101": caltech101,
    "esc50": esc50,
    "keyframes": keyframes,
    "holidays": holidays,
    FOLDER: folder_source,
}
"""Sources that read a folder, in the order in which they are tried; `folder` accepts what no other recognises."""


@dataclass(frozen=True)
class CollectionConfig:
    """Which collection is used.

    source : `demo`, a name in COLLECTIONS, or `auto` to recognise it
    path : the source's folder (for the demo, its generator's code)
    classes : which folder names become classes: `auto` those that look like names, `folders` any, `none`,
        or `{depth: 1}` the folder at the top (2: the one below it, and so on); for the source `folder`
    follow_links : whether items may be links to files outside the source's folder
    """

    source: str = "demo"
    path: str = "src/mediarank/collections/demo"
    classes: ClassRule = "auto"
    demo: DemoConfig = field(default_factory=DemoConfig)
    follow_links: bool = False
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def describe() -> list[tuple[str, str]]:
    """(name, one-line description) of every source."""
    return [DEMO, *((name, (source.__doc__ or "").partition("\n")[0]) for name, source in COLLECTIONS.items())]


def recognise(folder: Path) -> str:
    """The name of the source whose layout the folder has."""
    _require_folder(folder)
    for name, source in COLLECTIONS.items():
        if source.recognises(folder):
            return name
    raise ConfigError(f"{folder} holds no image, clip or sound; see docs/collections.md for the layouts known here.")


def open_collection(
    folder: Path, source: str | None = None, classes: ClassRule = "auto", facts: FileFacts | None = None
) -> Listing:
    """The items and labels of a folder, read by the named or recognised source; facts : see `folder.read`"""
    _require_folder(folder)
    name = source if source not in (None, AUTO) else recognise(folder)
    if name not in COLLECTIONS:
        known = ", ".join((DEMO[0], AUTO, *COLLECTIONS))
        raise ConfigError(f"collection.source {name!r} is unknown; the known sources are {known}.")
    if name == FOLDER:
        return folder_source.read(folder, classes, facts)
    if classes != "auto":
        raise ConfigError(
            f"collection.classes is about the names of folders, but {folder} is read as {name}, which has labels; "
            "remove collection.classes from params.yaml, or set collection.source: folder."
        )
    return COLLECTIONS[name].read(folder)


@dataclass(frozen=True)
class Collected:
    """What a source gave.

    files : item id -> the original
    skipped : files that are not used, by kind and reason
    source : the folder of the originals; None if they were generated
    """

    files: Mapping[str, Path]
    labels: Labels
    skipped: tuple[Skipped, ...] = ()
    source: Path | None = None

    def origin(self, item: str) -> str:
        """Where the source has an item, relative to its folder; empty if it is not there."""
        path = self.files[item].as_posix()
        return escaped(path.removeprefix(self._folder)) if self._folder and path.startswith(self._folder) else ""

    @cached_property
    def _folder(self) -> str:
        return f"{self.source.as_posix()}/" if self.source else ""


def collect(config: CollectionConfig, drawn: Path, facts: FileFacts | None = None) -> Collected:
    """The collection's media and labels.

    drawn : an empty folder for media that are generated
    facts : see `folder.read`
    """
    if config.source == DEMO[0]:
        from mediarank.collections import demo  # draws, films and makes sounds: slow to import

        labels = demo.generate(config.demo, drawn)
        files = (path for path in drawn.rglob("*") if path.is_file())
        return Collected({path.relative_to(drawn).as_posix(): path for path in files}, labels)
    source = Path(config.path)
    _require_folder(source)
    if drawn.resolve().is_relative_to(source.resolve()):
        raise ConfigError(
            f"collection.path {config.path!r} holds this project's own data folder; name the folder of your media."
        )
    listing = open_collection(source, config.source, config.classes, facts)
    for note in listing.notes:
        print(f"note: {note}", file=sys.stderr)
    for path, kind in irregular_below(source):
        print(f"note: {escaped(str(path))} is {kind} and is not opened.", file=sys.stderr)
    require_inside(listing.files, source, config.follow_links)
    skipped = listing.skipped if listing.skipped is not None else tuple(media_below(source).counted())
    return Collected(listing.files, listing.labels, skipped, source)


def _require_folder(path: Path) -> None:
    if path.is_dir():
        return
    if str(path).startswith("~"):
        raise ConfigError(
            f"collection.path {str(path)!r} starts with ~, which is not expanded; write {path.expanduser()}."
        )
    what = "is a file, not a folder" if path.exists() else "does not exist"
    raise ConfigError(f"collection.path {str(path)!r} {what}; `mediarank init FOLDER` sets it.")
