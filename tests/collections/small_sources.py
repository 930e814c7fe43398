"""Tiny source folders for the tests of `mediarank.collections`, and helpers to read their labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mediarank.collections.listing import Listing
from mediarank.stages.manifest import reconcile
from mediarank.types import MANIFEST_COLUMNS, Manifest


def put(folder: Path, *names: str) -> Path:
    """Empty files of these names below `folder`: sources never look inside media."""
    return write(folder, dict.fromkeys(names, ""))


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def rows(listing: Listing, name: str) -> list[tuple[Any, ...]]:
    """A label table as tuples; of a split, role and fold are both told."""
    return list(listing.labels[name].itertuples(index=False, name=None))


def refused(listing: Listing) -> dict[str, str]:
    """Items of label rows that end in the quarantine table, if every file can be decoded -> why."""
    table = pd.DataFrame(
        [dict.fromkeys(MANIFEST_COLUMNS, "") | {"item_id": i, "kind": "image", "status": "ok"} for i in listing.files],
        columns=list(MANIFEST_COLUMNS),
    )
    _, reasons = reconcile(listing.labels, Manifest(table.sort_values("item_id", ignore_index=True)))
    return {item: reason for _, item, _, reason in reasons}
