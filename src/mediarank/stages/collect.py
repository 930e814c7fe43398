"""Stage `collect`: bring a source's media and labels, in the canonical form, into `data/raw`."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from mediarank.collections.sources import CollectionConfig
from mediarank.collections.sources import collect as collect_from
from mediarank.collections.tree import Skipped
from mediarank.store import atomic_folder, write_csv, write_labels


def run(config: CollectionConfig, data: Path) -> str:
    """Fill `raw/media`, `raw/labels` and `raw/skipped.csv`; return a line that says what was found."""
    with atomic_folder(data / "raw/media") as media:
        labels, skipped = collect_from(config, media)
        count = sum(1 for path in media.rglob("*") if path.is_file())
    write_labels(data / "raw/labels", labels)
    columns = [field.name for field in fields(Skipped)]
    write_csv(data / "raw/skipped.csv", pd.DataFrame([asdict(row) for row in skipped], columns=columns))
    tables = ", ".join(f"{len(table)} rows of {name}" for name, table in labels.tables.items() if len(table))
    left = sum(row.files for row in skipped)
    also = f"; {left} skipped (data/raw/skipped.csv)" if left else ""
    return f"{count} files from {config.source}{also}; labels: {tables or 'none'}"
