"""A packed model holds all that ranking needs: it still answers after a move to another folder."""

from __future__ import annotations

import shutil
import wave
from pathlib import Path

import fitted_project
import numpy as np
import pytest

from mediarank import store
from mediarank.asking.scores import best
from mediarank.evaluation.rankings import Rankings
from mediarank.ops.models.ingest import rank_new
from mediarank.ops.models.packing import Packed, pack, unpack
from mediarank.types import DataError


@pytest.fixture(scope="module")
def packed(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Packed:
    folder = tmp_path_factory.mktemp("packed")
    pack(fitted / "data", "retrieval", fitted_project.COPYING, folder / "made")
    return unpack(Path(shutil.move(folder / "made", folder / "moved")))


def test_it_ranks_as_the_stage_did(packed: Packed, fitted: Path) -> None:
    recorded = store.read_method(fitted / "data/systems/retrieval/scores" / packed.model.served)
    assert isinstance(recorded, Rankings)
    assert packed.model.names == recorded.names
    queries = recorded.ids.tolist()
    kept = recorded.rows(queries)  # the best of each query; not the query itself
    assert (~np.isnan(kept)).sum() == len(queries) * (len(recorded.names) - 1)
    found = packed.rank_items(queries)
    np.testing.assert_array_equal(np.where(np.isnan(kept), np.nan, found), kept)
    first, second = queries[:2]
    np.testing.assert_array_equal(packed.rank_items([second, first, second]), found[[1, 0, 1]])


def test_a_picture_from_outside_is_described_as_the_pipeline_would(packed: Packed, fitted: Path) -> None:
    item = "images/sea_002.png"
    outside, inside = packed.rank_file(fitted / "data/raw/media" / item), packed.rank_items([item])
    assert packed.model.names[int(outside.argmax())] == item
    np.testing.assert_array_equal(outside, inside)
    vectors = {name: matrix.rows([item])[0] for name, matrix in packed.collection.items()}
    np.testing.assert_array_equal(packed.rank_vectors(vectors), inside)
    with pytest.raises(DataError, match=r"lab has \d+ numbers, not an array of shape \(3,\)"):
        packed.rank_vectors(vectors | {"lab": [1, 2, 3]})
    with pytest.raises(DataError, match="needs numbers for lab, hue; some have none"):
        packed.rank_vectors(vectors | {"lab": []})


def test_what_a_file_lacks_is_reported(packed: Packed, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "beep.wav"), "wb") as sound:
        sound.setparams((1, 2, 16000, 0, "NONE", ""))
        sound.writeframes(np.zeros(16000, np.int16).tobytes())
    with pytest.raises(DataError, match="lab, hue"):
        packed.rank_file(tmp_path / "beep.wav")


def test_nothing_is_pickled(packed: Packed, fitted: Path, tmp_path: Path) -> None:
    pack(fitted / "data", "retrieval", fitted_project.COPYING, tmp_path / "packed")
    kinds = {path.suffix for path in (tmp_path / "packed").rglob("*") if path.is_file()}
    assert kinds == {".npz", ".npy", ".json", ".parquet"}
    for path in (tmp_path / "packed").rglob("*.np*"):
        np.load(path, allow_pickle=False)


def test_unknown_items_and_systems_are_named(packed: Packed, fitted: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nosuch\.png: not in the collection"):
        packed.rank_items(["nosuch.png"])
    with pytest.raises(DataError, match="annotations"):
        pack(fitted / "data", "annotations", fitted_project.COPYING, tmp_path / "none")


def test_best_takes_ties_in_order() -> None:
    table = best(np.array([[1.0, 3.0, 3.0], [0.0, -1.0, 2.0]]), ["a", "b", "c"], ["q", "r"], 2)
    assert table.to_numpy().tolist() == [["q", 1, "b", 3.0], ["q", 2, "c", 3.0], ["r", 1, "c", 2.0], ["r", 2, "a", 0.0]]


def test_only_what_is_new_is_ranked_and_nothing_is_fitted(
    packed: Packed, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    shutil.copytree(fitted / "data", data)
    assert len(rank_new(packed, data, tmp_path / "cache")) == 0
    # Three more pictures, and another content under an old name.
    manifest, frames, *_ = fitted_project.collect(data, 75)
    changed = frames["item_id"] == "images/leaf_001.png"
    twin = frames.loc[frames["item_id"] == "images/fire_000.png", ["path", "sha256"]].iloc[0]
    frames.loc[changed, ["path", "sha256"]] = twin.to_list()
    table = manifest.table.copy()
    table.loc[table["item_id"] == "images/leaf_001.png", "sha256"] = twin["sha256"]
    store.write_table(data / "manifest/manifest.parquet", table)
    store.write_table(data / "frames/frames.parquet", frames)

    def refuse(*_: object) -> None:
        raise AssertionError("a codebook was fitted")

    monkeypatch.setattr("mediarank.features.fitting.fit_codebook", refuse)
    scores = rank_new(packed, data, tmp_path / "cache")
    new = ["images/fire_072.png", "images/leaf_001.png", "images/leaf_073.png", "images/sea_074.png"]
    assert scores.ids.tolist() == new
    table = best(scores.values, scores.names, new, 5)
    for item, kind in zip(new, ("fire", "fire", "leaf", "sea"), strict=True):
        assert all(kind in name for name in table.loc[table["query"] == item, "name"]), item
