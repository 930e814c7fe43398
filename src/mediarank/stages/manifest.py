"""Stage `manifest`: what is in the collection, and what of it can be used.

Every file is fingerprinted and its header read; labels are joined to the items they speak of. What can't be used,
a file or a label, goes to the quarantine table with its reason, and the run goes on.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pandas as pd

from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import Probe, probe
from mediarank.types import (
    ITEM_COLUMN,
    MANIFEST_COLUMNS,
    OK,
    QUARANTINED,
    DataError,
    Labels,
    Manifest,
    MediaError,
)

QUARANTINE_COLUMNS: Final = ("what", "item_id", "source", "reason")


@dataclass(frozen=True)
class ManifestConfig:
    """limits : what a media file may ask for before it is refused"""

    limits: Limits = field(default_factory=Limits)
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def build_manifest(media: Path, labels: Labels, config: ManifestConfig) -> tuple[Manifest, Labels, pd.DataFrame]:
    """The manifest of the files below `media`, the labels of usable items, and the quarantine table."""
    items = sorted(path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file())
    if not items:
        raise DataError(f"There is no file below {media}; check collection.source and collection.path in params.yaml.")
    inspect = partial(_inspect, media=media, limits=config.limits)
    rows = [
        _failed_row(item, outcome.reason) if isinstance(outcome, Failed) else outcome
        for item, outcome in zip(
            items, guarded_map(inspect, items, "manifest", config.limits.timeout_seconds), strict=True
        )
    ]
    table = pd.DataFrame(rows, columns=list(MANIFEST_COLUMNS))
    # Byte-identical files are one group: they must not be split between fitting and testing.
    table["group_id"] = (
        table.groupby("sha256")["item_id"].transform("min").where(table["sha256"] != "", table["item_id"])
    )
    manifest = Manifest(table)
    kept, refused = reconcile(labels, manifest)
    files = manifest.quarantined.assign(what="file").rename(columns={"path": "source"})[list(QUARANTINE_COLUMNS)]
    quarantine = pd.concat([files, pd.DataFrame(refused, columns=list(QUARANTINE_COLUMNS))], ignore_index=True)
    return manifest, kept, quarantine


def reconcile(labels: Labels, manifest: Manifest) -> tuple[Labels, list[tuple[str, str, str, str]]]:
    """Labels of usable items without repetitions, and the rows that were refused."""
    status = dict(zip(manifest.table["item_id"], manifest.table["status"], strict=True))
    kept: dict[str, pd.DataFrame] = {}
    refused: list[tuple[str, str, str, str]] = []
    for name, table in labels.tables.items():
        reasons = _refusals(name, table, status, set(labels["classes"]["class"]))
        items = table[ITEM_COLUMN.get(name, "target")].tolist()
        # A CSV's first line is its header, so row 0 is line 2.
        refused += [
            ("label", str(items[row]), f"labels/{name}.csv line {row + 2}", reason)
            for row, reason in enumerate(reasons.tolist())
            if reason
        ]
        kept[name] = table[reasons == ""].reset_index(drop=True)
    return Labels(kept), refused


def _refusals(name: str, table: pd.DataFrame, status: Mapping[str, str], classes: set[str]) -> pd.Series:
    """Why each row can't be used; empty where it can."""
    reasons = pd.Series("", index=table.index, dtype=str)
    value = {
        "classes": "class",
        "concepts": "relevant",
        "events": "relevant",
        "orderings": "strength",
        "splits": "role",
    }
    keys = [c for c in table.columns if c != value.get(name)]
    said = table.groupby(keys)[value[name]].transform("nunique") if name in value and len(table) else None
    if said is not None:
        reasons[said > 1] = f"contradicts another row of the same {' and '.join(keys)}"
    reasons[table.duplicated() & (reasons == "")] = "repeats an earlier row"
    targets = table[ITEM_COLUMN.get(name, "target")]
    state = targets.map(status)
    if name == "orderings":
        state = state.where(~targets.isin(classes), OK)
    reasons[state.isna()] = "speaks of an item that is not in the collection"
    reasons[state == QUARANTINED] = "speaks of a quarantined item"
    return reasons


def _inspect(item: str, media: Path, limits: Limits) -> dict[str, Any]:
    path = media / item
    try:
        seen = probe(path, limits)
    except MediaError as error:
        return _failed_row(item, str(error), _sha256(path))
    return _row(item, seen, _sha256(path))


def _row(item: str, seen: Probe, sha256: str) -> dict[str, Any]:
    return {"item_id": item, "path": item, **asdict(seen), "sha256": sha256, "group_id": "", "status": OK, "reason": ""}


def _failed_row(item: str, reason: str, sha256: str = "") -> dict[str, Any]:
    """Of a file that can't be read, only its name tells what it was meant to be."""
    meant = str(mimetypes.guess_type(item)[0]).split("/")[0]
    unknown = Probe({"video": "clip", "audio": "sound"}.get(meant, "image"))
    return {**_row(item, unknown, sha256), "status": QUARANTINED, "reason": reason}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
