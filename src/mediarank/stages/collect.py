"""Stage `collect`: a source's media and labels, in the canonical form, into `data/raw`."""

from __future__ import annotations

from pathlib import Path

from mediarank.collections.sources import CollectionConfig
from mediarank.collections.sources import collect as collect_from
from mediarank.store import atomic_folder, write_labels


def run(config: CollectionConfig, data: Path) -> str:
    """Fill `raw/media` and `raw/labels`; returns a line that says what was collected."""
    with atomic_folder(data / "raw/media") as media:
        labels = collect_from(config, media)
        count = sum(1 for path in media.rglob("*") if path.is_file())
    write_labels(data / "raw/labels", labels)
    tables = ", ".join(f"{len(table)} rows of {name}" for name, table in labels.tables.items() if len(table))
    return f"{count} files from {config.source}; labels: {tables or 'none'}"
