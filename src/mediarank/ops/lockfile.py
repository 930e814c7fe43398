"""dvc.lock as a record of a run: what ran, on which data, with which numbers, and whether that is what lies here.

Read with yaml alone, because asking DVC costs seconds. Entries that DVC keeps of stages that are no longer planned are
left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from mediarank.types import DataError

LOCK: Final = "dvc.lock"
PLAN: Final = "dvc.yaml"
PARAMS: Final = "params.yaml"
REPRO_FIRST: Final = "run dvc repro first."


@dataclass(frozen=True)
class Lock:
    """The planned stages of `dvc.lock` by address, such as `features@hog`, and the whole of params.yaml."""

    root: Path
    stages: Mapping[str, Mapping[str, Any]]
    params: Mapping[str, Any]

    @property
    def key(self) -> str:
        """A hash of what ran, whatever the order in which stages finished."""
        return hashlib.sha256(json.dumps(self.stages, sort_keys=True).encode()).hexdigest()

    @property
    def data_version(self) -> str:
        """A hash of the collection: media and labels as they were brought in."""
        return hashlib.sha256(json.dumps(self.outs("data/raw"), sort_keys=True).encode()).hexdigest()

    def outs(self, below: str) -> dict[str, str]:
        """Path and DVC's hash of every output at or below a path."""
        found = {
            str(out["path"]): str(out.get("md5", "")) for stage in self.stages.values() for out in stage.get("outs", ())
        }
        return {path: found[path] for path in sorted(found) if path == below or path.startswith(below + "/")}

    def files(self, below: str) -> list[Path]:
        """Every file of the outputs at or below a path, after making sure that they are what the lock says."""
        files: list[Path] = []
        for out, recorded in self.outs(below).items():
            path = self.root / out
            if not path.exists():
                raise DataError(f"{out} is in {LOCK} but not in the workspace; run dvc checkout, or {REPRO_FIRST}")
            if dvc_hash(path) != recorded:
                raise DataError(f"{out} is not what {LOCK} says; {REPRO_FIRST}")
            files += sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        return files

    def require_same_params(self) -> None:
        """Refuse if params.yaml has changed since the stages ran."""
        for address, stage in self.stages.items():
            for key, used in stage.get("params", {}).get(PARAMS, {}).items():
                found = _look_up(self.params, key)
                if not _same(found, used):
                    raise DataError(
                        f"{PARAMS} has changed since {address} ran: {key} was {used!r}, is {found!r}; {REPRO_FIRST}"
                    )


def read_lock(root: Path) -> Lock:
    if not (root / LOCK).exists():
        raise DataError(f"There is no {LOCK} in {root}; {REPRO_FIRST}")
    params = _read(root / PARAMS)
    found = _read(root / LOCK).get("stages", {})
    planned, missing = _planned(_read(root / PLAN).get("stages", {}), params, found)
    if missing:
        raise DataError(f"{LOCK} lacks the stage(s) {', '.join(missing)}; {REPRO_FIRST}")
    return Lock(root, {address: found[address] for address in sorted(planned)}, params)


def dvc_hash(path: Path) -> str:
    """The hash that DVC gives a file or a folder: of a folder, that of the sorted list of its files' hashes."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, _md5).hexdigest()
    relative = sorted((p.relative_to(path).as_posix(), p) for p in path.rglob("*") if p.is_file())
    listing = [{"md5": dvc_hash(file), "relpath": name} for name, file in relative]
    return _md5(json.dumps(listing, sort_keys=True).encode()).hexdigest() + ".dir"


def _md5(data: bytes = b"") -> hashlib._Hash:
    return hashlib.md5(data, usedforsecurity=False)


def _planned(
    plan: Mapping[str, Any], params: Mapping[str, Any], found: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Addresses of the planned stages, and those of them that the lock lacks.

    A stage that DVC multiplies by `matrix`, or by something else than params.yaml, has whatever addresses are found.
    """
    addresses: list[str] = []
    missing: list[str] = []
    for name, stage in plan.items():
        wanted = [name]
        if "foreach" in stage or "matrix" in stage:
            keys = _foreach_keys(stage.get("foreach"), params)
            if keys is None:
                wanted = [address for address in found if address.startswith(f"{name}@")] or [name]
            else:
                wanted = [f"{name}@{key}" for key in keys]
        addresses += wanted
        missing += [address for address in wanted if address not in found]
    return addresses, missing


def _foreach_keys(over: Any, params: Mapping[str, Any]) -> list[str] | None:
    named = re.fullmatch(r"\$\{([\w.]+)\}", over) if isinstance(over, str) else None
    values = _look_up(params, named[1]) if named else over
    if isinstance(values, Mapping):
        return [str(key) for key in values]
    if isinstance(values, list):
        return [str(k) if isinstance(v, Mapping | list) else str(v) for k, v in enumerate(values)]
    return None


def _look_up(params: Mapping[str, Any], dotted: str) -> Any:
    value: Any = params
    for part in dotted.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or _number(one) == _number(other) is not None


def _number(value: Any) -> float | None:
    """`1e-3` is a number to DVC and text to PyYAML, which follows an older YAML."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except FileNotFoundError:
        raise DataError(f"There is no {path.name} in {path.parent}; run this in the project's folder.") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path} can't be read: {error}") from None
    return content if isinstance(content, dict) else {}
