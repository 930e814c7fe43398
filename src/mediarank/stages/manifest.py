"""Stage `manifest`: list the items of the collection, and which can be used.

Every file is fingerprinted and its header read; labels are joined to the items that they are about. A file or label
that can't be used goes to the quarantine table with its reason, and the run goes on.
"""

from __future__ import annotations

import mimetypes
import os
import posixpath
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pandas as pd

from mediarank import store
from mediarank.collections.groups import joined_groups
from mediarank.collections.listing import escaped
from mediarank.content_cache import MEDIA_BYTES, ContentCache
from mediarank.labels import LABEL_ITEMS, LABEL_KEYS, LABEL_TABLES, OF_QUARANTINED, OF_UNKNOWN, Labels
from mediarank.media.confine import Confinement, folders_of
from mediarank.media.files import File, Slice, sha256_of
from mediarank.media.guard import Failed
from mediarank.media.header_cache import headers
from mediarank.media.limits import Limits
from mediarank.media.probe import Probe, probe
from mediarank.media.shards import Media
from mediarank.media.sniff import RAW_EXTENSIONS
from mediarank.teaching.journal import Journal
from mediarank.teaching.merging import merge_read
from mediarank.types import (
    CAUSES,
    MANIFEST_COLUMNS,
    OK,
    QUARANTINED,
    TAKEN_COLUMNS,
    DataError,
    Manifest,
    MediaError,
)

MISNAMED: Final = "Its name is not UTF-8 or holds a backslash or control character; rename it."
QUARANTINE_COLUMNS: Final = ("what", "item_id", "source", "reason")


@dataclass(frozen=True)
class ManifestConfig:
    """limits : the most that a media file may need before it is refused"""

    limits: Limits = field(default_factory=Limits)
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def run(config: ManifestConfig, data: Path, journal: Path, cache: Path) -> str:
    """Write the manifest, the labels of usable items without and with the journal, and the quarantine table."""
    labels = store.read_labels(data / "raw/labels")
    manifest, kept, quarantine = build_manifest(data / "raw/media", labels, config, cache / "frames")
    store.write_manifest(data / "manifest/manifest.parquet", manifest)
    store.write_labels(data / "manifest/source_labels", kept)
    kept, said, quarantine = with_journal(manifest, kept, quarantine, journal)
    store.write_labels(data / "manifest/labels", kept)
    store.write_csv(data / "manifest/statements.csv", said)
    store.write_csv(data / "manifest/quarantine.csv", quarantine)
    return f"{len(manifest.usable)} usable items; {len(said)} statements; {len(quarantine)} rows in quarantine"


def build_manifest(
    media: Path, labels: Labels, config: ManifestConfig, cache: Path | None = None
) -> tuple[Manifest, Labels, pd.DataFrame]:
    """The manifest of the files below `media`, the labels of usable items, and the quarantine table.

    cache : the folder of a cache of headers
    """
    originals = Media(media)
    found = sorted(originals)
    if not found:
        raise DataError(f"There is no file below {media}; check collection.source and collection.path in params.yaml.")
    # No table can hold a name that is not UTF-8, so the file is listed under an escaped one.
    misnamed = [item for item in found if escaped(item) != item]
    items = sorted(set(found) - set(misnamed))
    inspect = partial(_inspect, limits=config.limits)
    confinement = Confinement((media, *folders_of(originals.places(items))))
    jobs = [(item, originals[item]) for item in items]
    kept_headers = ContentCache(cache, MEDIA_BYTES) if cache else None
    outcomes = headers(jobs, inspect, lambda row: row["status"] == OK, config.limits, confinement, kept_headers)
    rows = [
        _failed_row(item, outcome.reason) if isinstance(outcome, Failed) else outcome
        for item, outcome in zip(items, outcomes, strict=True)
    ]
    rows += [_failed_row(item, MISNAMED) for item in sorted(set(map(escaped, misnamed)) - set(items))]
    columns = [*MANIFEST_COLUMNS, "cause", *TAKEN_COLUMNS]
    table = pd.DataFrame(rows, columns=columns).sort_values("item_id", ignore_index=True)
    manifest = Manifest(table.assign(group_id=_groups(table, labels["groups"])))
    kept, refused = reconcile(labels, manifest)
    files = manifest.quarantined.assign(what="file").rename(columns={"path": "source"})[list(QUARANTINE_COLUMNS)]
    quarantine = pd.concat([files, pd.DataFrame(refused, columns=list(QUARANTINE_COLUMNS))], ignore_index=True)
    return manifest, kept, quarantine


def with_journal(
    manifest: Manifest, labels: Labels, quarantine: pd.DataFrame, journal: Path
) -> tuple[Labels, pd.DataFrame, pd.DataFrame]:
    """Labels with the journal's statements added, one row per statement, and the quarantine with the unused ones."""
    merged = merge_read(labels, manifest, Journal(journal).read())
    return merged.labels, merged.said, pd.concat([quarantine, merged.refused], ignore_index=True)


def _groups(table: pd.DataFrame, named: pd.DataFrame) -> list[str]:
    """The group of each item, named after its first item: items that must not be split between fitting and testing.

    One group is: identical files, items that the source says belong together, a Live Photo (a picture and a clip with
    the same name), and a RAW file with its JPEG. An item in two groups joins them.
    """
    items = table["item_id"].tolist()
    known = set(items)
    said = [(item, group) for item, group in zip(named["item"], named["group"], strict=True) if item in known]
    # One row per item for its content, one for its name, one for each group that the source puts it in.
    members = [*items, *items, *(item for item, _ in said)]
    content = [f"content {sha or item}" for item, sha in zip(items, table["sha256"].tolist(), strict=True)]
    shots = [f"shot {shot}" for shot in _shots(items, table["kind"].tolist())]
    numbers = joined_groups(members, [*content, *shots, *(f"group {group}" for _, group in said)])
    return [members[number] for number in numbers[: len(items)]]


def _shots(items: list[str], kinds: list[str]) -> list[str]:
    """For each item the picture that was taken with the same press of the shutter, or itself.

    Those have the same folder and the same name without extension: a picture and clips, or a picture and RAW files.
    """
    parts: dict[str, list[tuple[str, str]]] = {}
    for item, kind in zip(items, kinds, strict=True):
        stem, ending = posixpath.splitext(item)
        part = "raw" if ending.lower() in RAW_EXTENSIONS else kind
        parts.setdefault(stem.casefold(), []).append((item, part))
    shot_of = {}
    for together in parts.values():
        pictures = [item for item, part in together if part == "image"] or [i for i, part in together if part == "raw"]
        for item, part in together:
            joined = part in ("clip", "raw") and len(pictures) == 1
            shot_of[item] = pictures[0] if joined else item
    return [shot_of[item] for item in items]


def reconcile(labels: Labels, manifest: Manifest) -> tuple[Labels, list[tuple[str, str, str, str]]]:
    """Labels of usable items without repetitions, and the rows that were refused."""
    status = dict(zip(manifest.table["item_id"].tolist(), manifest.table["status"].tolist(), strict=True))
    classes = set(labels["classes"]["class"].unique())
    kept: dict[str, pd.DataFrame] = {}
    refused: list[tuple[str, str, str, str]] = []
    for name, table in labels.tables.items():
        table = table.reset_index(drop=True)
        reasons = _refusals(name, table, status, classes)
        wrong = table.loc[reasons != "", list(LABEL_ITEMS[name])].astype(str)
        # A CSV's first line is its header, so row 0 is line 2.
        refused += [
            ("label", " and ".join(items), f"labels/{name}.csv line {row + 2}", reasons[row])
            for row, *items in wrong.itertuples(name=None)
        ]
        kept[name] = table[reasons == ""].reset_index(drop=True)
    return Labels(kept), refused


def _refusals(name: str, table: pd.DataFrame, status: Mapping[str, str], classes: set[str]) -> pd.Series:
    """Why each row can't be used; empty where it can."""
    reasons = pd.Series("", index=table.index, dtype=str)
    if table.empty:
        return reasons
    keys = list(LABEL_KEYS[name])
    rows = (_in_one_order(table) if name == "pairs" else table)[list(LABEL_TABLES[name])]
    distinct = rows.drop_duplicates()
    contradicted = distinct[distinct.duplicated(keys, keep=False)].set_index(keys).index
    reasons[rows.duplicated()] = "repeats an earlier row"
    reasons[rows.set_index(keys).index.isin(contradicted)] = f"contradicts another row of the same {' and '.join(keys)}"
    if name == "pairs":
        reasons[table["first"] == table["second"]] = "compares an item with itself"
    for column in LABEL_ITEMS[name]:
        state = table[column].map(status)
        if name == "orderings":
            state = state.where(~table[column].isin(classes), OK)
        reasons[state == QUARANTINED] = OF_QUARANTINED
        reasons[state.isna()] = OF_UNKNOWN
    return reasons


def _in_one_order(pairs: pd.DataFrame) -> pd.DataFrame:
    """The same pairs, each with the lesser name first, so that a > b and b > a can be compared."""
    turned = pairs["first"] > pairs["second"]
    return pairs.assign(
        first=pairs["first"].where(~turned, pairs["second"]),
        second=pairs["second"].where(~turned, pairs["first"]),
        relation=pairs["relation"].where(~turned | (pairs["relation"] != ">"), "<"),
    )


def _inspect(job: tuple[str, File], limits: Limits) -> dict[str, Any]:
    item, file = job
    if isinstance(file, Slice):
        file.check()
    try:
        seen = probe(file, limits)
    except MediaError as error:
        return _failed_row(item, str(error), _fingerprint(file), error.cause)
    return _row(item, seen, _fingerprint(file))


def _row(item: str, seen: Probe, sha256: str) -> dict[str, Any]:
    facts = asdict(seen)
    found = {**facts.pop("taken"), **facts, "sha256": sha256}
    return {"item_id": item, "path": item, **found, "group_id": "", "status": OK, "reason": "", "cause": ""}


def _failed_row(item: str, reason: str, sha256: str = "", cause: str = CAUSES[0]) -> dict[str, Any]:
    """The row of a file that can't be read, whose kind is guessed from its name."""
    meant = str(mimetypes.guess_type(item)[0]).split("/")[0]
    unknown = Probe({"video": "clip", "audio": "sound"}.get(meant, "image"))
    return {**_row(item, unknown, sha256), "status": QUARANTINED, "reason": reason, "cause": cause}


def _fingerprint(file: File) -> str:
    """Empty for a file that can't be read."""
    if isinstance(file, Slice):
        return file.sha256
    return sha256_of(file) if isinstance(file, Path) and os.access(file, os.R_OK) else ""
