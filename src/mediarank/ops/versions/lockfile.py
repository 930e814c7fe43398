"""dvc.lock as a record of a run: what ran, on which data, with which settings, and whether the workspace matches.

Read with yaml only, because importing DVC takes seconds. Entries of stages that are no longer planned are left out.
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
    """The planned stages of `dvc.lock` by address, such as `features-hog`, and all of params.yaml."""

    root: Path
    stages: Mapping[str, Mapping[str, Any]]
    params: Mapping[str, Any]

    @property
    def key(self) -> str:
        """A hash of what ran, independent of the order in which stages finished."""
        return hashlib.sha256(json.dumps(self.stages, sort_keys=True).encode()).hexdigest()

    @property
    def data_version(self) -> str:
        """A hash of the collection: its media and labels as collected."""
        return hashlib.sha256(json.dumps(self.outs("data/raw"), sort_keys=True).encode()).hexdigest()

    def outs(self, below: str = "") -> dict[str, str]:
        """Path and DVC's hash of every output, or of those at or below a path."""
        found = {
            str(out["path"]): str(out.get("md5", "")) for stage in self.stages.values() for out in stage.get("outs", ())
        }
        return {
            path: found[path] for path in sorted(found) if not below or path == below or path.startswith(below + "/")
        }

    @property
    def sources(self) -> dict[str, str]:
        """Path and DVC's hash of everything that stages read and no stage makes: code, the collection's source."""
        made = {str(out["path"]) for stage in self.stages.values() for out in stage.get("outs", ())}
        read = {str(dep["path"]): str(dep.get("md5", "")) for s in self.stages.values() for dep in s.get("deps", ())}
        return {path: read[path] for path in sorted(read.keys() - made)}

    def files(self, below: str) -> list[Path]:
        """Every file of the outputs at or below a path, after checking that they match the lock."""
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
                found = look_up(self.params, key)
                if not _same(found, used):
                    raise DataError(
                        f"{PARAMS} has changed since {address} ran: {key} was {used!r}, is {found!r}; {REPRO_FIRST}"
                    )

    def require_one_run(self) -> None:
        """Refuse a lock whose stages are of different runs: one stage read an input that has been remade since.

        This happens after new files were ingested, or when a run was interrupted.
        """
        made = self.outs()
        for address, stage in self.stages.items():
            for dep in stage.get("deps", ()):
                if made.get(dep["path"], dep.get("md5")) != dep.get("md5"):
                    raise DataError(f"{dep['path']} has changed since {address} read it; {REPRO_FIRST}")


def read_lock(root: Path) -> Lock:
    """The lock of the workspace at `root`, which must have every planned stage."""
    if not (root / LOCK).exists():
        raise DataError(f"There is no {LOCK} in {root}; {REPRO_FIRST}")
    lock, missing = _assemble(root, *(_read(root / name) for name in (LOCK, PLAN, PARAMS)))
    if missing:
        raise DataError(f"{LOCK} lacks the stage(s) {', '.join(missing)}; {REPRO_FIRST}")
    return lock


def parse_lock(root: Path, lock: bytes, plan: bytes, params: bytes, whence: str) -> Lock:
    """A lock from elsewhere, such as a commit or MLflow, with the stages that it has.

    whence : the origin of the contents of dvc.lock, dvc.yaml and params.yaml, for errors
    """
    contents = ((lock, LOCK), (plan, PLAN), (params, PARAMS))
    return _assemble(root, *(parse_yaml(content, f"{name} of {whence}") for content, name in contents))[0]


def _assemble(
    root: Path, lock: Mapping[str, Any], plan: Mapping[str, Any], params: Mapping[str, Any]
) -> tuple[Lock, list[str]]:
    """The lock, and the planned stages that it lacks."""
    found = lock.get("stages") or {}
    planned, missing = _planned(plan.get("stages") or {}, params, found)
    return Lock(root, {address: found[address] for address in sorted(planned) if address in found}, params), missing


def dvc_hash(path: Path) -> str:
    """The hash that DVC gives a file or a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, _md5).hexdigest()
    return folder_hash({p.relative_to(path).as_posix(): dvc_hash(p) for p in path.rglob("*") if p.is_file()})


def folder_hash(files: Mapping[str, str]) -> str:
    """The hash that DVC gives a folder: that of the sorted list of its files (path below it -> hash)."""
    listing = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    return content_hash(json.dumps(listing, sort_keys=True).encode()) + ".dir"


def content_hash(content: bytes) -> str:
    """The hash that DVC gives a file with this content."""
    return _md5(content).hexdigest()


def _md5(data: bytes = b"") -> hashlib._Hash:
    return hashlib.md5(data, usedforsecurity=False)


def _planned(
    plan: Mapping[str, Any], params: Mapping[str, Any], found: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Addresses of the planned stages, and those of them that the lock lacks.

    For a stage that DVC multiplies by `matrix`, or by values outside params.yaml, all addresses found are accepted.
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
    values = look_up(params, named[1]) if named else over
    if isinstance(values, Mapping):
        return [str(key) for key in values]
    if isinstance(values, list):
        return [str(k) if isinstance(v, Mapping | list) else str(v) for k, v in enumerate(values)]
    return None


def look_up(params: Mapping[str, Any], dotted: str) -> Any:
    """The value of a dotted name, or None."""
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
    """`1e-3` is a number for DVC but text for PyYAML, which follows an older YAML."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _read(path: Path) -> dict[str, Any]:
    """A YAML file of the project."""
    try:
        return parse_yaml(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise DataError(f"There is no {path.name} in {path.parent}; run this in the project's folder.") from None


def parse_yaml(content: bytes, what: str) -> dict[str, Any]:
    """The mapping that a YAML file holds; `what` names it in errors."""
    try:
        found = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as error:
        raise DataError(f"{what} can't be read: {error}") from None
    return found if isinstance(found, dict) else {}
