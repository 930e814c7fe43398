"""Stage `collect`: bring a source's media and labels, in the canonical form, into `data/raw`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from mediarank import disk
from mediarank.collections.file_facts import FileFacts
from mediarank.collections.sources import CollectionConfig
from mediarank.collections.sources import collect as collect_from
from mediarank.collections.tree import Skipped
from mediarank.media.files import sha256_of
from mediarank.media.shards import ShardWriter
from mediarank.store import atomic_folder, write_csv, write_labels

UNREADABLE = "can't be read; make it readable (chmod u+r)"


def run(
    config: CollectionConfig, data: Path, cache: Path, finished: Callable[[str], Path | None] = lambda _: None
) -> str:
    """Fill `raw/media`, `raw/labels` and `raw/skipped.csv`; return a line that says what was found.

    finished : name of a shard -> a file that already holds it, or None
    """
    with disk.scratch(data / "raw/drawn") as drawn:
        facts = FileFacts(cache)
        found = collect_from(config, drawn, facts)
        skipped = list(found.skipped)
        unreadable = []
        with atomic_folder(data / "raw/media") as media, ShardWriter(media, finished=finished) as shards:
            items = sorted(found.files)
            files = [found.files[item] for item in items]
            fingerprints = facts.of("fingerprints", sha256_of, files, progress=True)
            for item, file, fingerprint in zip(items, files, fingerprints, strict=True):
                if fingerprint:
                    shards.add(item, file, *fingerprint, found.origin(item))
                else:
                    unreadable.append(item)
    if unreadable:
        skipped.append(Skipped(Path(unreadable[0]).suffix.lower(), UNREADABLE, len(unreadable), unreadable[0]))
    write_labels(data / "raw/labels", found.labels)
    columns = [field.name for field in fields(Skipped)]
    write_csv(data / "raw/skipped.csv", pd.DataFrame([asdict(row) for row in skipped], columns=columns))
    tables = ", ".join(f"{len(table)} rows of {name}" for name, table in found.labels.tables.items() if len(table))
    left = sum(row.files for row in skipped)
    also = f"; {left} skipped (data/raw/skipped.csv)" if left else ""
    count = len(found.files) - len(unreadable)
    return f"{count} files from {config.source}{also}; labels: {tables or 'none'}"
