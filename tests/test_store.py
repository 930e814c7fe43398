"""Values are read back as written, in the same bytes, and a killed writer leaves the old value."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mediarank import seals, store
from mediarank.labels import Labels
from mediarank.types import DataError, FeatureBlocks, FeatureMatrix, MachineFault, Roles


def digest(path: Path) -> str:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(p.name.encode() + p.read_bytes() for p in files)).hexdigest()


def matrix() -> FeatureMatrix:
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    return FeatureMatrix(np.array(["a", "b", "ü/c.jpg"]), ("x", "y"), values)


def test_features_come_back_memory_mapped(tmp_path: Path) -> None:
    store.write_features(tmp_path / "f", matrix(), {"family": "hog"})
    read = store.read_features(tmp_path / "f")
    assert isinstance(read.values, np.memmap)
    assert read.ids.tolist() == matrix().ids.tolist()
    assert read.names == ("x", "y")
    assert np.array_equal(read.values, matrix().values)


def in_blocks(values: np.ndarray, *cuts: int) -> FeatureBlocks:
    return FeatureBlocks(matrix().ids, ("x", "y"), iter(np.split(values, cuts)))


@pytest.mark.parametrize("cuts", [(), (1,), (1, 1, 2)])
def test_blocks_are_written_as_the_matrix_that_they_make_up(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    store.write_features(tmp_path / "whole", matrix(), {"family": "hog"})
    store.write_features(tmp_path / "blocks", in_blocks(matrix().values, *cuts), {"family": "hog"})
    np.save(tmp_path / "numpy.npy", matrix().values)
    assert (tmp_path / "whole/values.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    for name in ("values.npy", "index.parquet", "meta.json"):
        assert (tmp_path / "blocks" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((2, 2), np.float32), "3 ids can't describe 2 rows"),
        (np.ones((4, 2), np.float32), "Rows 0 to 4 of 3"),
        (np.ones((3, 3), np.float32), "2 float32 columns can't be float32"),
        (np.ones((3, 2)), "can't be float64"),
        (np.array([[1, 2], [3, np.nan], [5, 6]], np.float32), "1 rows are not, such as b"),
    ],
)
def test_blocks_that_do_not_fit_leave_nothing_behind(tmp_path: Path, values: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        store.write_features(tmp_path / "f", in_blocks(values))
    assert not list(tmp_path.iterdir())


def test_ids_are_read_without_values(tmp_path: Path) -> None:
    store.write_features(tmp_path / "f", matrix())
    (tmp_path / "f/values.npy").unlink()
    assert store.read_ids(tmp_path / "f") == matrix().ids.tolist()


def test_labels_come_back_typed(tmp_path: Path) -> None:
    tables = {
        "concepts": pd.DataFrame({"item": ["007", "NA"], "concept": ["boat"] * 2, "relevant": [True, False]}),
        "orderings": pd.DataFrame({"attribute": ["open"], "target": ["coast"], "strength": [1.5]}),
    }
    store.write_labels(tmp_path / "labels", Labels(tables))
    read = store.read_labels(tmp_path / "labels")
    assert read["concepts"]["item"].tolist() == ["007", "NA"], "ids are text, whatever they look like"
    assert read["concepts"]["relevant"].tolist() == [True, False]
    assert read["orderings"]["strength"].tolist() == [1.5]
    assert read["keywords"].empty


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("concepts", "item,concept,relevant\na,boat,1\nb,boat,maybe\n", "line 3: relevant must be 1 or 0, not 'maybe'"),
        ("orderings", "attribute,target,strength\nopen,coast,inf\n", "line 2: strength must be a number"),
        ("classes", "image,class\na,coast\n", "its first line must be: item,class"),
        ("classes", "", "can't be read"),
    ],
)
def test_bad_label_files_say_where(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        store.read_labels(tmp_path)


def test_the_same_value_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"item_id": ["a"], "group_id": ["a"], "role": ["base"], "fold": [0]})
    for run in ("one", "two"):
        store.write_features(tmp_path / run / "features", matrix())
        store.write_arrays(tmp_path / run / "model.npz", {"w": np.ones(3), "b": np.zeros(2)})
        store.write_roles(tmp_path / run / "roles.parquet", Roles(table))
        store.write_json(tmp_path / run / "facts.json", {"b": 1, "a": [1.5, None]})
        a_day_later = time.time() + 86400  # archives would keep the time
        monkeypatch.setattr(time, "time", lambda now=a_day_later: now)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    assert store.read_arrays(tmp_path / "one/model.npz")["w"].tolist() == [1, 1, 1]
    assert store.read_json(tmp_path / "one/facts.json")["a"] == [1.5, None]
    assert store.read_roles(tmp_path / "one/roles.parquet").items("base") == ["a"]


def test_pickles_are_refused(tmp_path: Path) -> None:
    store.write_features(tmp_path, matrix())
    np.save(tmp_path / "values.npy", np.array([{"evil": 1}], dtype=object), allow_pickle=True)
    store.write_json(
        tmp_path / "meta.json", {"names": ["x", "y"], "values_sha256": seals.file_sha256(tmp_path / "values.npy")}
    )
    with pytest.raises(DataError, match=r"values\.npy can't be read"):
        store.read_features(tmp_path)


LABELS = Labels({"classes": pd.DataFrame({"item": ["a", "b"], "class": ["coast", "street"]})})
TABLE = pd.DataFrame({"item_id": [f"i{k}" for k in range(50)], "x": np.arange(50) / 7, "n": range(50)})
WRITES: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "json": (lambda p: store.write_json(p, {"a": [1.5, None], "b": {"c": "x"}}), store.read_json),
    "parquet": (lambda p: store.write_table(p, TABLE), lambda p: store.read_table(p).to_json()),
    "npz": (
        lambda p: store.write_arrays(p, {"w": np.arange(40.0), "b": np.ones(3)}),
        lambda p: {name: value.tolist() for name, value in store.read_arrays(p).items()},
    ),
    "arrays": (
        lambda p: store.write_arrays(p, {"w": np.arange(40.0), "b": np.ones(3)}),
        lambda p: {name: value.tolist() for name, value in store.open_arrays(p).items()},
    ),
    "features": (
        lambda p: store.write_features(p, matrix(), {"family": "hog"}),
        lambda p: [
            store.read_features(p).ids.tolist(),
            store.read_features(p).names,
            store.read_features(p).values.tolist(),
        ],
    ),
    "labels": (lambda p: store.write_labels(p, LABELS), lambda p: store.read_labels(p)["classes"].to_json()),
    "measured": (
        lambda p: store.write_measured(p, {"arow": {"map": 0.5}}, TABLE, TABLE, TABLE),
        lambda p: [str(part) for part in store.read_measured(p)],
    ),
}


@pytest.mark.parametrize("kind", WRITES)
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, kind: str) -> None:
    """One bit in each of many places: an error that names the file and what to do, or the very same value."""
    write, read = WRITES[kind]
    write(tmp_path / kind)
    value = read(tmp_path / kind)
    files = [p for p in (tmp_path / kind).rglob("*") if p.is_file()] or [tmp_path / kind]
    noticed = 0
    for path in files:
        content = path.read_bytes()
        for place in range(0, len(content), max(1, len(content) // 60)):
            damaged = bytearray(content)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            try:
                found, words = read(tmp_path / kind), ""
            except DataError as error:
                found, words = value, str(error)
                noticed += 1
            assert found == value, f"{path.name}, byte {place}: another value in silence"
            assert not words or ("dvc repro" in words and tmp_path.name in words)
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(DataError, match="dvc repro"):
            read(tmp_path / kind)
        path.write_bytes(content)
    assert noticed > 20
    assert read(tmp_path / kind) == value


def test_sealed_files_are_still_of_their_format(tmp_path: Path) -> None:
    """What other programs read: pandas, numpy, any JSON parser."""
    store.write_table(tmp_path / "t.parquet", TABLE)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), TABLE)
    store.write_arrays(tmp_path / "a.npz", {"w": np.arange(4)})
    with np.load(tmp_path / "a.npz") as archive:
        assert archive["w"].tolist() == [0, 1, 2, 3]
    store.write_json(tmp_path / "f.json", {"a": 1})
    assert json.loads((tmp_path / "f.json").read_text())["a"] == 1


def test_json_that_a_person_wrote_needs_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"a": 1}')
    assert store.read_json(tmp_path / "f.json") == {"a": 1}
    (tmp_path / "f.json").write_text('{"a": 1, "sha256": "sha256:00"}')
    with pytest.raises(DataError, match="checksum"):
        store.read_json(tmp_path / "f.json")


def test_a_disk_that_fails_is_no_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error", "f.json")

    store.write_json(tmp_path / "f.json", {"a": 1})
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(MachineFault, match="check the disk"):
        store.read_json(tmp_path / "f.json")


def test_missing_and_damaged_files_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run the stage that writes it first"):
        store.read_table(tmp_path / "none.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="dvc repro"):
        store.read_table(tmp_path / "cut.parquet")


def test_a_failed_write_leaves_the_old_value_and_no_litter(tmp_path: Path) -> None:
    store.write_text(tmp_path / "file", "old")

    def fail(context: AbstractContextManager[Path]) -> None:
        with context as temporary:
            (temporary / "half" if temporary.is_dir() else temporary).write_text("half")
            raise ZeroDivisionError

    for context in (store.atomic_path(tmp_path / "file"), store.atomic_folder(tmp_path / "folder")):
        with pytest.raises(ZeroDivisionError):
            fail(context)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_pairs_folds_and_groups_come_back(tmp_path: Path) -> None:
    tables = {
        "pairs": pd.DataFrame({"attribute": ["open"], "first": ["a"], "second": ["b"], "relation": ["="]}),
        "splits": pd.DataFrame({"item": ["a", "b"], "role": ["", "base"], "fold": ["3", ""]}),
        "groups": pd.DataFrame({"item": ["a"], "group": ["video 1"]}),
        "queries": pd.DataFrame({"item": ["a"]}),
    }
    store.write_labels(tmp_path / "labels", Labels(tables))
    read = store.read_labels(tmp_path / "labels")
    for name, table in tables.items():
        assert read[name].to_numpy().tolist() == table.to_numpy().tolist(), name


def test_a_split_without_folds_and_a_relation_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "splits.csv").write_text("item,role\na,test\n")
    assert store.read_labels(tmp_path)["splits"]["fold"].tolist() == [""]
    (tmp_path / "pairs.csv").write_text("attribute,first,second,relation\nopen,a,b,>\nopen,a,c,more\n")
    with pytest.raises(DataError, match=r"pairs.csv, line 3: a relation is > .* or = .*, not 'more'"):
        store.read_labels(tmp_path)


WRITER = """
import sys, numpy as np
from pathlib import Path
from mediarank import disk, store
from mediarank.types import FeatureMatrix
target, place = Path(sys.argv[1]), sys.argv[2]
ids = np.array([f"i{k:05d}" for k in range(2000)])

def write(value):
    store.write_features(target, FeatureMatrix(ids, tuple("xyz"), np.full((2000, 3), value, np.float32)))

def stop(path, *rest, call=getattr(disk, place)):
    if path.parent == target.parent:
        print("inside", flush=True)
        sys.stdin.read()
    return call(path, *rest)

write(1)
setattr(disk, place, stop)
write(2)
"""


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("sync_folder", 1),  # all is written, nothing is in its place
        ("_exchange", 1),  # just before it takes its place
        ("remove", 2),  # just after
    ],
)
def test_kill_9_leaves_the_old_value_or_the_new_one(tmp_path: Path, place: str, value: int) -> None:
    """A real process, killed while it is surely inside a write; `test_disk.py` kills at each step."""
    target = tmp_path / "features"
    command = [sys.executable, "-c", WRITER, str(target), place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"inside\n", "the writer ended by itself"
        os.kill(writer.pid, signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2, "it left its temporary folder"
    read = store.read_features(target)
    assert (len(read), np.unique(read.values).tolist()) == (2000, [value])
    store.write_features(target, read)
    assert list(tmp_path.iterdir()) == [target]
