"""The report's overview of the collection, which needs no labels.

A contact sheet by time or by folder, pictures that look the same, clusters with what distinguishes them, and pictures
unlike all others. Clusters and outliers use a small descriptor of colours and their places (`appearance`). Large
collections are sampled, so that no cost grows with the square of their size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from mediarank.evaluation.blocks import Block, Gallery, Row, Text, Tile
from mediarank.evaluation.report import Section
from mediarank.types import Doubles, are_among

GRID: Final = 8
SHEET_ROWS: Final = 12
GROUPS: Final = 12
GROUP_SHOTS: Final = 100
"""Of a larger group of near-duplicates, this many are opened to find the best shot."""
SAMPLE: Final = 2000
NEIGHBOURS: Final = 5
DISTINCT: Final = 0.25
"""A fact distinguishes a cluster if its share in the cluster exceeds that in the others by this much."""
HUES: Final = (
    (20, "pink"), (55, "red"), (80, "orange"), (115, "yellow"), (170, "green"), (225, "cyan"), (312, "blue"),
    (340, "purple"), (360, "pink"),
)  # fmt: skip
"""Colours by their angle in Lab's colour plane, each up to this many degrees; red is at 40, blue at 306."""

Thumbnail = Callable[[str], bytes | None]
Alike = tuple[int, Sequence[tuple[str, str]]]
"""A group of near-duplicates: how many there are, and (item, caption) of those compared, the best shot first."""


def sampled(items: Sequence[str], most: int = SAMPLE) -> list[str]:
    """All items, or `most` of them at even steps."""
    count = min(len(items), most)
    return [items[k * len(items) // count] for k in range(count)]


def appearance(lab: npt.NDArray[np.uint8]) -> Doubles:
    """Colours and their places: an 8 × 8 × 3 Lab picture (uint8, as OpenCV has it) as 192 numbers."""
    return (lab.astype(np.float64) - (0.0, 128.0, 128.0)).reshape(-1)


def overview_section(
    items: pd.DataFrame,
    looks: Mapping[str, Doubles],
    duplicates: tuple[int, Sequence[Alike]],
    labels: Mapping[str, Sequence[str]],
    thumbnail: Thumbnail,
    per_row: int,
) -> Section:
    """
    items : item_id, kind, width, height, taken_at and camera of the usable items
    looks : item -> its `appearance`, for the sampled ones
    duplicates : how many groups there are, and the first ones
    labels : item -> its class and keywords
    """
    blocks: list[Block] = [_sheet(items, thumbnail, per_row), _duplicates(*duplicates, thumbnail, per_row)]
    ids = sorted(looks)
    if len(ids) > 2 * NEIGHBOURS:
        vectors = np.stack([looks[item] for item in ids])
        facts = facts_of(items, looks, labels)
        rows = [
            Row(name, _tiles([ids[k] for k in members], thumbnail, per_row), f"{len(members)} items")
            for name, members in clusters(vectors, [facts[item] for item in ids])
        ]
        note = "By colours and their places; each is named by what holds for it more than for the others."
        blocks.append(Gallery("Clusters", rows, note))
        alone = [ids[k] for k in outliers(vectors)[:per_row]]
        blocks.append(Gallery("Unlike all others", [Row("Outliers", _tiles(alone, thumbnail, per_row))]))
    return Section("At a glance", blocks, "What is in this collection?")


def clusters(vectors: Doubles, facts: Sequence[set[str]]) -> list[tuple[str, list[int]]]:
    """(name, rows, those nearest to the centre first) of each cluster, largest first."""
    from scipy.cluster.vq import kmeans2

    count = int(np.clip(round(np.sqrt(len(vectors) / 2)), 2, 8))
    centres, number = kmeans2(vectors, count, iter=30, minit="++", rng=np.random.default_rng(7))
    found = []
    for k in range(count):
        members = np.flatnonzero(number == k)
        if len(members):
            distance = np.linalg.norm(vectors[members] - centres[k], axis=1).round(6)
            found.append((distinguishing(facts, members), members[np.argsort(distance, kind="stable")].tolist()))
    return sorted(found, key=lambda cluster: (-len(cluster[1]), cluster[1][0]))


def distinguishing(facts: Sequence[set[str]], members: npt.NDArray[np.intp]) -> str:
    """The facts that hold for these rows more often than for the others, most distinguishing first."""
    inside = Counter(fact for row in members.tolist() for fact in facts[row])
    everywhere = Counter(fact for own in facts for fact in own)
    count, others = len(members), max(1, len(facts) - len(members))
    gaps = {fact: found / count - (everywhere[fact] - found) / others for fact, found in inside.items()}
    named = [fact for fact in sorted(gaps, key=lambda fact: (-gaps[fact], fact)) if gaps[fact] >= DISTINCT]
    return ", ".join(named[:3]) or "mixed"


def outliers(vectors: Doubles) -> list[int]:
    """Rows by their mean distance to their nearest neighbours, the most distant first."""
    squares = (vectors**2).sum(axis=1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * vectors @ vectors.T, 0.0))
    np.fill_diagonal(distance, np.inf)
    count = min(NEIGHBOURS, len(vectors) - 1)
    nearest = np.sort(np.partition(distance, count - 1, axis=1)[:, :count], axis=1)
    lonely: list[int] = np.argsort(-nearest.mean(axis=1).round(6), kind="stable").tolist()
    return lonely


def facts_of(
    items: pd.DataFrame, looks: Mapping[str, Doubles], labels: Mapping[str, Sequence[str]]
) -> dict[str, set[str]]:
    """item -> words about it: colours, format, month, camera, folder and labels"""
    found = {}
    for row in items[are_among(items["item_id"], looks)].to_dict("records"):
        item = str(row["item_id"])
        found[item] = {*_colours(looks[item]), *_written(row), *labels.get(item, ())}
    return found


def _written(row: Mapping[Any, Any]) -> list[str]:
    """What the manifest says of an item, in words."""
    width, height = int(row["width"] or 0), int(row["height"] or 0)
    words = [f"in {folder}"] if (folder := PurePosixPath(str(row["item_id"])).parent.as_posix()) != "." else []
    if width and height:
        words.append(
            "portrait format" if height > 1.1 * width else "landscape format" if width > 1.1 * height else "square"
        )
    if row["taken_at"]:
        words.append(f"taken {str(row['taken_at'])[:7]}")
    return [*words, *([str(row["camera"])] if row["camera"] else []), *(["clip"] if row["kind"] == "clip" else [])]


def _colours(look: Doubles) -> list[str]:
    """Brightness and the prevailing colour."""
    light, a, b = look.reshape(-1, 3).T
    words = ["dark"] if light.mean() < 80 else ["bright"] if light.mean() > 175 else []
    chroma = np.hypot(a, b)
    if chroma.mean() < 8:
        return [*words, "hardly any colour"]
    hue = np.degrees(np.arctan2((b * chroma).sum(), (a * chroma).sum())) % 360
    return [*words, next(name for end, name in HUES if hue <= end)]


def _sheet(items: pd.DataFrame, thumbnail: Thumbnail, per_row: int) -> Block:
    """Pictures at even steps from each month, or from each folder where few files have a date."""
    pictured = items[items["kind"] != "sound"]
    if pictured.empty:
        return Text(["There are no pictures."], "Contact sheet")
    month = pictured["taken_at"].astype(str).str[:7]
    dated = bool((month != "").mean() >= 0.5)
    folder = [item.rpartition("/")[0] or "(top)" for item in pictured["item_id"].tolist()]
    key = month.where(month != "", "without a date").tolist() if dated else folder
    members: dict[str, list[str]] = {}
    for name, item in zip(key, pictured["item_id"].tolist(), strict=True):
        members.setdefault(str(name), []).append(str(item))
    groups = [(name, sorted(members[name])) for name in sorted(members)]
    rows = [
        Row(name, _tiles(sampled(found, per_row), thumbnail, per_row), f"{len(found)} items")
        for name, found in (groups[k] for k in _spread(len(groups), SHEET_ROWS))
    ]
    left = f" {len(groups) - len(rows)} more are not shown." if len(groups) > len(rows) else ""
    return Gallery(f"Contact sheet by {'month' if dated else 'folder'}", rows, left.strip())


def _duplicates(count: int, groups: Sequence[Alike], thumbnail: Thumbnail, per_row: int) -> Block:
    heading = "Near-duplicates"
    if not groups:
        return Text(["No two pictures look the same."], heading)
    rows = [
        Row(
            f"{size} pictures, best{'' if size == len(shots) else f' of {len(shots)} compared'}: {shots[0][0]}",
            [Tile(thumbnail(item), caption, title=item, item=item) for item, caption in shots[:per_row]],
        )
        for size, shots in groups
    ]
    shown = f"{count} groups; the best shot, by sharpness and size, comes first. `mediarank duplicates` lists all."
    return Gallery(heading, rows, shown)


def _tiles(items: Sequence[str], thumbnail: Thumbnail, most: int) -> list[Tile]:
    return [Tile(thumbnail(item), PurePosixPath(item).name, title=item, item=item) for item in items[:most]]


def _spread(count: int, most: int) -> list[int]:
    return [k * count // min(count, most) for k in range(min(count, most))]
