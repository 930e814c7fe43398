"""A correction is part of the data version: the stage's outputs change with it, and come back when it is taken back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.labels import Labels
from mediarank.stages.manifest import ManifestConfig, run
from mediarank.stages.splits import SplitsConfig, assign_roles
from mediarank.teaching.journal import Journal, statements_of_call
from mediarank.teaching.labelling import Items, Vocabulary, label_rows
from mediarank.teaching.undoing import undo_statements


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    media = tmp_path / "data/raw/media"
    media.mkdir(parents=True)
    names = [f"i{k:02d}.png" for k in range(12)]
    for name in names:
        cv2.imwrite(str(media / name), rng.integers(0, 255, (16, 16, 3), dtype=np.uint8))
    concepts = pd.DataFrame({"item": names, "concept": "boat", "relevant": [k < 6 for k in range(12)]})
    store.write_labels(tmp_path / "data/raw/labels", Labels({"concepts": concepts}))
    return tmp_path / "data"


def fingerprint(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def roles(data: Path) -> list[str]:
    manifest = store.read_manifest(data / "manifest/manifest.parquet").usable
    items = manifest[["item_id", "kind", "group_id"]].assign(phash="")
    found, _ = assign_roles(items, store.read_labels(data / "manifest/source_labels"), SplitsConfig())
    return found.table["role"].tolist()


def test_with_a_correction_and_without(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    folder = tmp_path / "labels/journal"
    run(ManifestConfig(), data, folder, tmp_path / "cache")
    before, dealt = fingerprint(data / "manifest/labels"), roles(data)
    manifest = store.read_manifest(data / "manifest/manifest.parquet")
    known = Vocabulary.of(store.read_labels(data / "manifest/labels"))
    rows = label_rows(Items(manifest), known, "boat", yes=["i07.png"], no=["i00.png"])
    Journal(folder).append(statements_of_call("ada", "cli", rows))
    said = run(ManifestConfig(), data, folder, tmp_path / "cache")
    assert "2 statements" in said
    labels = store.read_labels(data / "manifest/labels")["concepts"].set_index("item")["relevant"]
    assert bool(labels["i07.png"])
    assert not labels["i00.png"]
    table = pd.read_csv(data / "manifest/statements.csv")
    assert table[["item", "value", "source", "effect"]].to_numpy().tolist() == [
        ["i07.png", "yes", "no", "changes"],
        ["i00.png", "no", "yes", "changes"],
    ]
    assert fingerprint(data / "manifest/labels") != before
    assert roles(data) == dealt, "a correction moves no item"
    undo_statements(folder, None, "cli")
    run(ManifestConfig(), data, folder, tmp_path / "cache")
    assert fingerprint(data / "manifest/labels") == before
