"""The effective labels as of now: what the last `manifest` took from the source, with the journal of this moment."""

from __future__ import annotations

from pathlib import Path

from mediarank import store
from mediarank.teaching.journal import Journal
from mediarank.teaching.merging import Merged, merge_read


def current_labels(data: Path, journal: Path) -> Merged:
    """data : the stages' folder; journal : the folder of the label stream"""
    labels = store.read_labels(data / "manifest/source_labels")
    return merge_read(labels, store.read_manifest(data / "manifest/manifest.parquet"), Journal(journal).read())
