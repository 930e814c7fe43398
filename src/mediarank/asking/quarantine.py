"""The current quarantine table, with what each row needs to become usable."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from mediarank import store
from mediarank.labels import OF_QUARANTINED, OF_UNKNOWN
from mediarank.types import DataError

SUGGESTED: Final = 100
"""Similar file names are suggested for this many rows at most; comparing every name with every file takes long."""


@dataclass(frozen=True)
class Quarantine:
    """The quarantine and the skipped files.

    table : what, item_id, source, reason, needs
    skipped : kind, reason, files, example
    note : how current it is
    """

    table: pd.DataFrame
    skipped: pd.DataFrame
    note: str


def current_quarantine(data: Path) -> Quarantine:
    """The list of the stage `frames` if it belongs to the current manifest, otherwise the manifest's list.

    After a check has stopped a run, the list of `frames` is that of an earlier run and would be wrong.
    """
    first, later = data / "manifest/quarantine.csv", data / "frames/quarantine.csv"
    if not first.exists():
        raise DataError("No collection has been read yet. Run `dvc repro manifest`, or `mediarank init FOLDER`.")
    table, note = store.read_quarantine(first), "as the stage manifest found it; `dvc repro frames` decodes the files"
    if later.exists():
        whole = store.read_quarantine(later)
        if whole.iloc[: len(table)].reset_index(drop=True).equals(table):
            table, note = whole, "as the stages manifest and frames found it"
    manifest = data / "manifest/manifest.parquet"
    causes, items = {}, []
    if manifest.exists():
        listed = store.read_manifest(manifest).table
        causes = dict(zip(listed["item_id"], listed["cause"], strict=True))
        items = listed["item_id"].tolist()
    rows = zip(table["what"], table["item_id"], table["source"], table["reason"], strict=True)
    needs = [
        _needs(what, item, source, reason, causes, items if row < SUGGESTED else [])
        for row, (what, item, source, reason) in enumerate(rows)
    ]
    return Quarantine(table.assign(needs=needs), _skipped(data / "raw/skipped.csv"), note)


def _skipped(path: Path) -> pd.DataFrame:
    columns = ("kind", "reason", "files", "example")
    return store.read_csv(path, columns) if path.exists() else pd.DataFrame(columns=list(columns))


def _needs(what: str, item: str, source: str, reason: str, causes: dict[str, str], items: list[str]) -> str:
    """What must be done for a row to become usable."""
    if what == "file":
        return {
            "unsupported": "another format, or the package that the reason names",
            "limit": "a higher value in manifest.limits (params.yaml), or a smaller file",
        }.get(causes.get(item, ""), "an intact copy of the file; or remove it")
    if reason == OF_QUARANTINED:
        return f"the file {item}"
    if reason == OF_UNKNOWN:
        near = difflib.get_close_matches(item, items, n=1)
        return f"the name of a file; perhaps {near[0]}" if near else "the name of a file in the collection"
    if reason.startswith("repeats"):
        return f"nothing; delete the row from {source.partition(' ')[0]}"
    if reason.startswith("contradicts"):
        return "one of the contradicting rows to be deleted"
    return f"a correction in {source}" if source else "a correction"
