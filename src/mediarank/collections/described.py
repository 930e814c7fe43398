"""Labels that photo programs keep in the pictures (XMP, IPTC) or in XMP files beside them.

`IMG_1.jpg.xmp` (digiKam, darktable) and `IMG_1.xmp` (Lightroom) describe `IMG_1.jpg`. A sidecar takes precedence over
the picture itself. Keywords and names of regions become keywords, stars the strength of the attribute `rating`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from mediarank.collections.file_facts import FileFacts
from mediarank.collections.label_json import RATING
from mediarank.collections.merging import Found
from mediarank.collections.tables import make_labels
from mediarank.collections.tree import same_name
from mediarank.labels import Labels
from mediarank.media.description import may_describe, read_description
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.xmp import MAX_BYTES, Description, read_xmp
from mediarank.types import MediaError

SIDECAR: Final = ".xmp"
TIMEOUT_SECONDS: Final = 60.0


def from_sidecars(sidecars: Mapping[str, Path], items: Iterable[str]) -> tuple[Found | None, list[str]]:
    """The labels in XMP sidecars (by their path from the collection's folder), and notes on useless sidecars."""
    if not sidecars:
        return None, []
    by_path: dict[str, list[str]] = {}
    for item in items:
        path = PurePosixPath(same_name(item))
        for name in (str(path), str(path.with_suffix(""))):
            by_path.setdefault(name.casefold(), []).append(item)
    said: dict[str, Description] = {}
    lost, damaged = [], []
    # The longer name is the more exact one: IMG_1.jpg.xmp takes precedence over IMG_1.xmp.
    for name in sorted(sidecars, key=lambda n: (-n.count("."), n)):
        described = by_path.get(same_name(name)[: -len(SIDECAR)].casefold(), [])
        if not described:
            lost.append(name)
            continue
        try:
            description = _read_sidecar(sidecars[name])
        except MediaError:
            damaged.append(name)
            continue
        for item in described:
            said[item] = said[item].or_else(description) if item in said else description
    notes = []
    if lost:
        notes.append(f"{len(lost)} XMP sidecars describe no file of the collection, such as {lost[0]}")
    if damaged:
        notes.append(f"{len(damaged)} XMP sidecars can't be parsed and are skipped, such as {damaged[0]}")
    return _found(said, "XMP sidecars"), notes


def from_pictures(files: Mapping[str, Path], facts: FileFacts) -> Found | None:
    """The labels in the pictures themselves, read in guarded child processes; pictures without any cost little.

    facts : know which pictures have any
    """
    found = facts.of("described", may_describe, list(files.values()))
    marked = [item for item, fact in zip(files, found, strict=True) if fact and fact[1]]
    if not marked:
        return None
    read = partial(read_description, limits=Limits())
    outcomes = guarded_map(read, [files[item] for item in marked], "keywords in pictures", TIMEOUT_SECONDS)
    # A picture that can't be opened is reported by the manifest.
    said = {item: found for item, found in zip(marked, outcomes, strict=True) if not isinstance(found, Failed)}
    return _found(said, "the pictures' own XMP and IPTC")


def labels_of(said: Mapping[str, Description]) -> Labels:
    ratings = {item: found.rating for item, found in said.items() if found.rating}
    if len(set(ratings.values())) < 2:
        ratings = {}  # equal stars give no order
    return make_labels(
        keywords=[(item, word) for item, found in said.items() for word in found.keywords],
        titles=[(item, found.title) for item, found in said.items() if found.title],
        regions=[
            (item, r.name, r.left, r.top, r.width, r.height) for item, found in said.items() for r in found.regions
        ],
        orderings=[(RATING, item, stars) for item, stars in ratings.items()],
    )


def _found(said: Mapping[str, Description], place: str) -> Found | None:
    said = {item: said[item] for item in sorted(said) if said[item]}
    if not said:
        return None
    labels = labels_of(said)
    gave = ", ".join(f"{len(table)} {name}" for name, table in labels.tables.items() if len(table))
    item, first = next(iter(said.items()))
    example = ", ".join((*first.keywords[:4], *([f"title {first.title!r}"] if first.title else [])))
    preview = f"{place}: {len(said)} files described, {gave}" + (f"; first: {item} -> {example}" if example else "")
    return Found(place, labels, preview)


def _read_sidecar(path: Path) -> Description:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MediaError(f"The file can't be read ({error.strerror}).") from None
    return read_xmp(data)
