"""A small collection and statements about it, for the tests of teaching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from mediarank.labels import LABEL_TABLES, Labels
from mediarank.teaching.statements import Statement
from mediarank.types import MANIFEST_COLUMNS, Manifest


def made_manifest(items: Mapping[str, str] | Sequence[str], kind: str = "image", bad: Sequence[str] = ()) -> Manifest:
    """items : item -> content hash; by default the hash is made of the id"""
    hashes = items if isinstance(items, Mapping) else {item: f"sha-{item}" for item in items}
    rows = [
        (item, item, "clip" if item.endswith(".mp4") else kind, 1, 1, 0.0, 0.0, False, sha, item, *_state(item in bad))
        for item, sha in sorted(hashes.items())
    ]
    return Manifest(pd.DataFrame(rows, columns=list(MANIFEST_COLUMNS)))


def _state(bad: bool) -> tuple[str, str]:
    return ("quarantined", "It is empty.") if bad else ("ok", "")


def made_labels(**tables: Sequence[tuple[object, ...]]) -> Labels:
    return Labels({name: pd.DataFrame(rows, columns=list(LABEL_TABLES[name])) for name, rows in tables.items()})


def said(number: int, item: str, name: str, value: object, kind: str = "concept", **others: str) -> Statement:
    """The number decides id and time."""
    given = {"author": "ada", "origin": "cli", "sha256": f"sha-{item}", **others}
    return Statement(
        id=f"{number:04x}.0",
        time=f"2026-01-01T00:00:{number:02d}.000000Z",
        kind=kind,
        item=item,
        name=name,
        value=value,
        **given,
    )
