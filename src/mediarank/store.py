"""How each contract is stored on disk: the only module that knows the formats.

Writes are atomic (`disk.py`) and every file carries a checksum, which is compared when it is read (`seals.py`). Nothing
is pickled. The same value always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mediarank import disk, seals
from mediarank.disk import atomic_folder as atomic_folder
from mediarank.disk import atomic_path as atomic_path
from mediarank.evaluation.rankings import Rankings
from mediarank.labels import LABEL_TABLES, NUMBER_COLUMNS, OPTIONAL_COLUMNS, RELATIONS, Labels
from mediarank.types import DataError, FeatureBlocks, FeatureMatrix, Floats, Manifest, Roles

T = TypeVar("T")

CHECKSUMS: Final = "checksums.json"
"""The list of checksums in a folder of label tables."""
CANDIDATES: Final = "candidates.parquet"
"""The items that all methods of a system ranked."""
_RANKINGS: Final = "rankings.npz"
_RANKED: Final = ("ids", "best", "scores", "places", "offsets", "candidates")
_PLAIN: Final = ("metrics.json", "curves.csv")
"""Parts of an evaluation that other programs read; their checksums are kept separately."""


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any, sealed: bool = True) -> None:
    """Write JSON; an object gets its checksum under the key `sha256`, unless other programs read it."""
    found = seals.seal_json(value) if sealed else value
    write_text(path, json.dumps(found, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON without the checksum, which must match if there is one."""
    return _read(path, lambda p: seals.open_json(p.read_bytes()))


def write_table(path: Path, table: pd.DataFrame, facts: Mapping[str, str] | None = None) -> None:
    """A parquet file without pandas' metadata, which would tie the bytes to library versions.

    facts : texts to keep with the table, see `read_facts`
    """
    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(dict(facts) if facts else None)
    buffer = io.BytesIO()
    pq.write_table(plain, buffer, compression="zstd")
    write_bytes(path, seals.seal_parquet(buffer.getvalue()))


def read_table(path: Path) -> pd.DataFrame:
    table: pd.DataFrame = _read(path, lambda p: _arrow(p.read_bytes()).to_pandas())
    return table


def read_facts(path: Path) -> dict[str, str]:
    """The texts kept with a table."""
    found = _read(path, lambda p: _arrow(p.read_bytes()).schema.metadata) or {}
    return {key.decode(): value.decode() for key, value in found.items()}


def _arrow(content: bytes) -> Any:
    return pq.read_table(pa.BufferReader(pa.py_buffer(seals.open_parquet(content))))


def write_csv(path: Path, table: pd.DataFrame) -> None:
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def read_csv(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV with these text columns, in this order; others are dropped, numbers are left to the caller.

    A column that is optional in label tables is empty if the file does not have it.
    """
    table = _read(path, lambda p: pd.read_csv(p, dtype=str, keep_default_na=False, encoding="utf-8-sig"))
    table = table.assign(**{c: "" for c in columns if c in OPTIONAL_COLUMNS and c not in table.columns})
    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise DataError(
            f"{path} lacks the column(s) {', '.join(missing)}; its first line must be: {','.join(columns)}."
        )
    return table[list(columns)]


def write_labels(folder: Path, labels: Labels) -> None:
    """The canonical CSV files and a list of their checksums; a table without rows is left out."""
    with atomic_folder(folder) as temporary:
        for name, table in labels.tables.items():
            if len(table):
                write_csv(temporary / f"{name}.csv", table[list(LABEL_TABLES[name])])
        checksums = {path.name: seals.file_sha256(path) for path in sorted(temporary.iterdir())}
        write_json(temporary / CHECKSUMS, checksums)


def read_labels(folder: Path) -> Labels:
    """Tables with text columns, except `relevant` (bool) and NUMBER_COLUMNS (float).

    A folder that a person wrote has no list of checksums, and is read without one.
    """
    if not folder.is_dir():
        raise DataError(f"There are no labels at {folder}; run the stage that writes them first.")
    checksums = read_json(folder / CHECKSUMS) if (folder / CHECKSUMS).exists() else {}
    for name, wanted in checksums.items():
        _read(folder / name, partial(_compare, wanted=wanted))
    tables = {
        name: read_csv(folder / f"{name}.csv", columns)
        for name, columns in LABEL_TABLES.items()
        if (folder / f"{name}.csv").exists()
    }
    for name, table in tables.items():
        if "relevant" in table:
            tables[name] = table.assign(relevant=_flags(table["relevant"], folder / f"{name}.csv"))
        numbers = [column for column in NUMBER_COLUMNS if column in table]
        if numbers:
            tables[name] = table.assign(**{c: _numbers(table[c], folder / f"{name}.csv") for c in numbers})
        if "relation" in table:
            _require_relations(table["relation"], folder / f"{name}.csv")
    return Labels(tables)


def write_manifest(path: Path, manifest: Manifest) -> None:
    write_table(path, manifest.table)


def read_manifest(path: Path) -> Manifest:
    return Manifest(read_table(path))


def write_roles(path: Path, roles: Roles) -> None:
    write_table(path, roles.table)


def read_roles(path: Path) -> Roles:
    return Roles(read_table(path))


def write_features(
    folder: Path,
    matrix: FeatureMatrix | FeatureBlocks,
    meta: Mapping[str, Any] | None = None,
    fitted: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> None:
    """`values.npy`, `index.parquet` (ids), `meta.json` (names, the checksum of the values and other facts).

    fitted : arrays to keep beside them, in `fitted.npz`
    """
    if isinstance(matrix, FeatureMatrix):
        ids, names, blocks = matrix.ids, matrix.names, iter([matrix.values])
    else:
        ids, names, blocks = matrix.ids, matrix.names, matrix.checked()
    with atomic_folder(folder) as temporary:
        digest = _write_blocks(temporary / "values.npy", (len(ids), len(names)), blocks)
        write_table(temporary / "index.parquet", pd.DataFrame({"id": ids}))
        write_json(temporary / "meta.json", {**(meta or {}), "names": list(names), "values_sha256": digest})
        if fitted:
            write_arrays(temporary / "fitted.npz", fitted)


def _write_blocks(path: Path, shape: tuple[int, int], blocks: Iterator[Floats]) -> str:
    """The file that `numpy.save` writes of the rows of all blocks; returns its checksum."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    digest = hashlib.sha256(header.getvalue())
    with path.open("wb") as file:
        file.write(header.getvalue())
        for block in blocks:
            rows = np.ascontiguousarray(block, dtype="<f4").data
            digest.update(rows)
            file.write(rows)
    return digest.hexdigest()


def read_features(folder: Path) -> FeatureMatrix:
    """Values are read once to compare their checksum, then memory-mapped: they may be larger than memory."""
    meta = read_json(folder / "meta.json")
    values: Floats = _read(folder / "values.npy", lambda p: _mapped(p, meta))
    ids = np.asarray(read_ids(folder), dtype=str)
    return FeatureMatrix(ids, tuple(meta["names"]), values)


def read_ids(folder: Path) -> list[str]:
    """The ids of a matrix, without its values."""
    return list(read_table(folder / "index.parquet")["id"].tolist())


def _mapped(path: Path, meta: Mapping[str, Any]) -> Floats:
    if seals.file_sha256(path) != meta.get("values_sha256"):
        raise seals.Damaged("its content does not match the checksum in meta.json")
    values: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    return values


def read_fitted(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The facts and the fitted arrays written with a matrix; no arrays if nothing was fitted."""
    arrays = read_arrays(folder / "fitted.npz") if (folder / "fitted.npz").exists() else {}
    return read_json(folder / "meta.json"), arrays


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """An npz archive whose bytes depend only on its arrays (numpy's own stamps each member with a date)."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue())
    write_bytes(path, seals.seal_zip(content.getvalue()))


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    def load(p: Path) -> dict[str, np.ndarray[Any, Any]]:
        with seals.open_zip(p.read_bytes()) as archive:
            members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        return {name: np.load(io.BytesIO(data), allow_pickle=False) for name, data in members.items()}

    return _read(path, load)


class _Arrays(Mapping[str, np.ndarray[Any, Any]]):
    """The arrays of an npz file, each read when first used; zip keeps a checksum of each."""

    def __init__(self, path: Path) -> None:
        seals.check_zip(path)
        self._path = path
        with _npz(path) as file:
            self._names = tuple(file.files)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._names:
            raise KeyError(name)
        return _read(self._path, lambda path: self._one(path, name))

    def _one(self, path: Path, name: str) -> np.ndarray[Any, Any]:
        with _npz(path) as file:
            array: np.ndarray[Any, Any] = file[name]
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def open_arrays(path: Path) -> Mapping[str, np.ndarray[Any, Any]]:
    """The arrays of an npz file, each read when first used."""
    return _read(path, _Arrays)


def _npz(path: Path) -> Any:
    return np.load(path, allow_pickle=False)


def write_outcome(
    folder: Path,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    facts: Mapping[str, Any],
    scores: Mapping[str, FeatureMatrix | Rankings],
    figures: Mapping[str, Any] | None = None,
) -> None:
    """A fitted system: `model.npz`, `model.json`, one folder per method in `scores/`, and `figures.json` if given."""
    with atomic_folder(folder) as temporary:
        write_arrays(temporary / "model.npz", arrays)
        write_json(temporary / "model.json", facts)
        if figures is not None:
            write_json(temporary / "figures.json", figures)
        for method, matrix in scores.items():
            if isinstance(matrix, FeatureMatrix):
                write_features(temporary / "scores" / method, matrix)
            else:
                write_rankings(temporary / "scores" / method, matrix)


def write_rankings(folder: Path, rankings: Rankings) -> None:
    """`rankings.npz`, and beside the folder one list of candidates for all methods."""
    write_table(folder.parent / CANDIDATES, pd.DataFrame({"id": list(rankings.names)}))
    write_arrays(folder / _RANKINGS, {name: getattr(rankings, name) for name in _RANKED})


def read_method(folder: Path) -> FeatureMatrix | Rankings:
    """The scores of one method, or its best ones."""
    if not (folder / _RANKINGS).exists():
        return read_features(folder)
    arrays = read_arrays(folder / _RANKINGS)
    names = tuple(read_table(folder.parent / CANDIDATES)["id"].tolist())
    return Rankings(names=names, **{name: arrays[name] for name in _RANKED})


def read_scores(folder: Path) -> dict[str, FeatureMatrix | Rankings]:
    """method -> scores, of a fitted system, in the order of its facts' `methods`; empty if it was skipped."""
    if not (folder / "model.json").exists():
        raise DataError(f"{folder} holds no fitted system; run the stage that writes it first (dvc repro).")
    place = {method: k for k, method in enumerate(read_json(folder / "model.json").get("methods", ()))}
    found = sorted(path.name for path in (folder / "scores").glob("*") if path.is_dir())
    methods = sorted(found, key=lambda method: place.get(method, len(place)))
    return {method: read_method(folder / "scores" / method) for method in methods}


def write_measured(
    folder: Path, metrics: Mapping[str, Any], summary: pd.DataFrame, per_query: pd.DataFrame, curves: pd.DataFrame
) -> None:
    """An evaluation: metrics as JSON and curves as CSV, for DVC and MLflow; tables as parquet.

    The checksums of files that other programs read are kept with the summary.
    """
    write_json(folder / "metrics.json", metrics, sealed=False)
    write_csv(folder / "curves.csv", curves)
    checksums = {name: seals.file_sha256(folder / name) for name in _PLAIN}
    write_table(folder / "per_query.parquet", per_query)
    write_table(folder / "summary.parquet", summary, checksums)


def read_measured(folder: Path) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """metrics, summary, per_query and curves, as they were written."""
    checksums = read_facts(folder / "summary.parquet")
    for name in _PLAIN:
        _read(folder / name, partial(_compare, wanted=checksums.get(name)))
    curves = _read(folder / "curves.csv", pd.read_csv)
    tables = (read_table(folder / f"{name}.parquet") for name in ("summary", "per_query"))
    return read_json(folder / "metrics.json"), *tables, curves


def _compare(path: Path, wanted: str | None) -> None:
    if seals.file_sha256(path) != wanted:
        raise seals.Damaged("its content does not match its checksum")


def read_quarantine(path: Path) -> pd.DataFrame:
    return read_csv(path, ("what", "item_id", "source", "reason"))


def _flags(column: pd.Series, path: Path) -> pd.Series:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    flags = column.str.strip().str.lower().map(known)
    if flags.isna().any():
        line = int(flags.isna().to_numpy().argmax())
        raise DataError(f"{path}, line {line + 2}: relevant must be 1 or 0, not {column.iloc[line]!r}.")
    return flags.astype(bool)


def _numbers(column: pd.Series, path: Path) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    if not np.isfinite(numbers).all():
        line = int((~np.isfinite(numbers)).to_numpy().argmax())
        raise DataError(f"{path}, line {line + 2}: {column.name} must be a number, not {column.iloc[line]!r}.")
    return numbers.astype(np.float64)


def _require_relations(column: pd.Series, path: Path) -> None:
    strange = ~column.isin(RELATIONS)
    if strange.any():
        line = int(strange.to_numpy().argmax())
        raise DataError(
            f"{path}, line {line + 2}: a relation is > (the first has more) or = (as much), not {column.iloc[line]!r}."
        )


def _read(path: Path, reader: Callable[[Path], T]) -> T:
    """Read with an error that says which file and what to do about it."""
    try:
        return reader(path)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; run the stage that writes it first (dvc repro).") from None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, pa.ArrowException) as error:
        if fault := disk.machine_fault(error):
            raise fault from error
        raise DataError(
            f"{path} can't be read ({error}). Run: bin/mediarank verify, which fetches an intact copy if there is one; "
            "or delete it and run dvc repro."
        ) from error
