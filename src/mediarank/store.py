"""How each contract is kept on disk: the only module that knows formats.

Writes are atomic (a temporary file or folder beside the target, then a rename), so a killed process leaves the old
value or the new one, never half of one. Nothing is pickled. The same value always gives the same bytes.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mediarank.labels import LABEL_TABLES, OPTIONAL_COLUMNS, RELATIONS, Labels
from mediarank.types import DataError, FeatureMatrix, Floats, Manifest, Roles

T = TypeVar("T")


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; on success it replaces `target`, on failure it is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `target`; on success it takes the place of `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if not target.exists():
            temporary.replace(target)
        elif not _exchange(temporary, target):
            # Without an atomic exchange there is an instant without the folder; its stage would then run again.
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            target.replace(old)
            temporary.replace(target)
            temporary = old
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step (Linux's renameat2); False where the system can't."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    return _read(path, lambda p: json.loads(p.read_text()))


def write_table(path: Path, table: pd.DataFrame) -> None:
    """A parquet file without pandas' metadata, which would tie the bytes to library versions."""
    with atomic_path(path) as temporary:
        plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(plain, temporary, compression="zstd")


def read_table(path: Path) -> pd.DataFrame:
    table: pd.DataFrame = _read(path, lambda p: pq.read_table(p).to_pandas())
    return table


def write_csv(path: Path, table: pd.DataFrame) -> None:
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def read_csv(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV with these text columns, in this order; others are dropped, numbers are left to the caller.

    A column that is optional in label tables is empty where the file does not have it.
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
    """The canonical CSV files; a table without rows is left out."""
    with atomic_folder(folder) as temporary:
        for name, table in labels.tables.items():
            if len(table):
                write_csv(temporary / f"{name}.csv", table[list(LABEL_TABLES[name])])


def read_labels(folder: Path) -> Labels:
    """Tables with text columns, save `relevant` (bool) and `strength` (float)."""
    if not folder.is_dir():
        raise DataError(f"There are no labels at {folder}; run the stage that writes them first.")
    tables = {
        name: read_csv(folder / f"{name}.csv", columns)
        for name, columns in LABEL_TABLES.items()
        if (folder / f"{name}.csv").exists()
    }
    for name, table in tables.items():
        if "relevant" in table:
            tables[name] = table.assign(relevant=_flags(table["relevant"], folder / f"{name}.csv"))
        if "strength" in table:
            tables[name] = table.assign(strength=_numbers(table["strength"], folder / f"{name}.csv"))
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
    matrix: FeatureMatrix,
    meta: Mapping[str, Any] | None = None,
    fitted: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> None:
    """`values.npy`, `index.parquet` (ids), `meta.json` (names and other facts); `fitted.npz` where there are arrays."""
    with atomic_folder(folder) as temporary:
        np.save(temporary / "values.npy", np.ascontiguousarray(matrix.values), allow_pickle=False)
        write_table(temporary / "index.parquet", pd.DataFrame({"id": matrix.ids}))
        write_json(temporary / "meta.json", {**(meta or {}), "names": list(matrix.names)})
        if fitted:
            write_arrays(temporary / "fitted.npz", fitted)


def read_features(folder: Path) -> FeatureMatrix:
    """Values are memory-mapped: a matrix larger than memory can be opened."""
    values: Floats = _read(folder / "values.npy", lambda p: np.load(p, mmap_mode="r", allow_pickle=False))
    ids = read_table(folder / "index.parquet")["id"].to_numpy(dtype=str)
    return FeatureMatrix(ids, tuple(read_json(folder / "meta.json")["names"]), values)


def read_fitted(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The facts and the fitted arrays that were written with a matrix; no arrays where nothing was fitted."""
    arrays = read_arrays(folder / "fitted.npz") if (folder / "fitted.npz").exists() else {}
    return read_json(folder / "meta.json"), arrays


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """An npz archive whose bytes depend on its arrays alone (numpy's own stamps each member with a date)."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue())


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    def load(p: Path) -> dict[str, np.ndarray[Any, Any]]:
        with np.load(p, allow_pickle=False) as archive:
            return dict(archive)

    return _read(path, load)


class _Arrays(Mapping[str, np.ndarray[Any, Any]]):
    """The arrays of an npz file, each read when it is asked for; zip keeps a checksum of each."""

    def __init__(self, path: Path) -> None:
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
    """The arrays of an npz file, each read when it is asked for."""
    return _read(path, _Arrays)


def _npz(path: Path) -> Any:
    return np.load(path, allow_pickle=False)


def write_outcome(
    folder: Path,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    facts: Mapping[str, Any],
    scores: Mapping[str, FeatureMatrix],
    figures: Mapping[str, Any] | None = None,
) -> None:
    """A fitted system: `model.npz`, `model.json`, one matrix per method in `scores/`, and `figures.json` if given."""
    with atomic_folder(folder) as temporary:
        write_arrays(temporary / "model.npz", arrays)
        write_json(temporary / "model.json", facts)
        if figures is not None:
            write_json(temporary / "figures.json", figures)
        for method, matrix in scores.items():
            write_features(temporary / "scores" / method, matrix)


def read_scores(folder: Path) -> dict[str, FeatureMatrix]:
    """method -> scores, of a fitted system, in the order of its facts' `methods`; empty if it was skipped."""
    if not (folder / "model.json").exists():
        raise DataError(f"{folder} holds no fitted system; run the stage that writes it first (dvc repro).")
    place = {method: k for k, method in enumerate(read_json(folder / "model.json").get("methods", ()))}
    found = sorted(path.name for path in (folder / "scores").glob("*") if path.is_dir())
    methods = sorted(found, key=lambda method: place.get(method, len(place)))
    return {method: read_features(folder / "scores" / method) for method in methods}


def write_measured(
    folder: Path, metrics: Mapping[str, Any], summary: pd.DataFrame, per_query: pd.DataFrame, curves: pd.DataFrame
) -> None:
    """An evaluation: metrics as JSON and curves as CSV, for DVC and MLflow; tables as parquet."""
    write_json(folder / "metrics.json", metrics)
    write_table(folder / "summary.parquet", summary)
    write_table(folder / "per_query.parquet", per_query)
    write_csv(folder / "curves.csv", curves)


def read_measured(folder: Path) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """metrics, summary, per_query and curves, as they were written."""
    curves = _read(folder / "curves.csv", pd.read_csv)
    tables = (read_table(folder / f"{name}.parquet") for name in ("summary", "per_query"))
    return read_json(folder / "metrics.json"), *tables, curves


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
        raise DataError(f"{path}, line {line + 2}: strength must be a number, not {column.iloc[line]!r}.")
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
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise DataError(f"{path} can't be read ({error}); delete it and run dvc repro, or dvc checkout.") from error
