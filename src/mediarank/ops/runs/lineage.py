"""Trace a number to its origin, and a file to its uses: from a metric to items, labels, settings and code, and back.

`trace` walks the run's lock backwards from the stage that wrote the metric. Items come from the manifest of that
version, found by hash; code is compared, file by file, with the commits that may have been checked out. `uses` goes
the other way: which runs had a file, and in which role.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mediarank.media.shards import INDEX, listed
from mediarank.ops.runs.recorded_runs import Run, Runs
from mediarank.ops.runs.tracked_values import flatten
from mediarank.ops.versions.changes import MEDIA, labels_folder
from mediarank.ops.versions.git import ask_git, files_at
from mediarank.ops.versions.history import history
from mediarank.ops.versions.lockfile import PARAMS, Lock, content_hash, folder_hash
from mediarank.ops.versions.objects import MissingObject, Objects
from mediarank.types import DataError

MANIFEST = "data/manifest/manifest.parquet"
ROLES = "data/splits/roles.parquet"
SHORTEST_FINGERPRINT = 8


@dataclass(frozen=True)
class Code:
    """The commit whose files match those that ran.

    sources : the inputs of stages from outside the pipeline, path -> DVC's hash
    differing : sources that differ from the commit: they were changed and not committed
    outside : sources that are not in git, such as the folder that a collection comes from
    """

    commit: str
    sources: Mapping[str, str]
    differing: tuple[str, ...]
    outside: tuple[str, ...]

    @property
    def same(self) -> int:
        """How many sources are in the commit exactly as they ran."""
        return len(self.sources) - len(self.differing) - len(self.outside)


@dataclass(frozen=True)
class Lineage:
    """The origin of a run's metrics, or of one of them.

    stages : those that led to it, in an order in which they can run
    params : the settings that they read
    items : item_id, kind, sha256, md5 (DVC's, of the file that holds it), role (empty if unused), status
    labels : table -> (DVC's hash, rows)
    """

    run: Run
    metric: str
    stages: tuple[str, ...]
    params: Mapping[str, str]
    items: pd.DataFrame
    labels: Mapping[str, tuple[str, int]]
    code: Code
    data_version: str

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics that were asked for."""
        wanted = f"{self.metric}/" if self.metric else ""
        return {name: value for name, value in self.run.metrics.items() if f"{name}/".startswith(wanted)}

    def summary(self) -> str:
        """A few lines of text; `items` and `to_json` have the rest."""
        used, unused = self.items[self.items["role"] != ""], self.items[self.items["role"] == ""]
        roles = ", ".join(f"{count} {role}" for role, count in used["role"].value_counts().sort_index().items())
        labels = ", ".join(f"{name} {rows} rows" for name, (_, rows) in self.labels.items() if rows)
        commit = f"commit {self.code.commit[:9]}" if self.code.commit else "no commit that git knows"
        lines = [
            f"run     {self.run}",
            *(f"        {name} = {value:g}" for name, value in self.metrics.items() if self.metric),
            f"stages  {' > '.join(self.stages)}",
            f"data    version {self.data_version[:9]}: {len(used)} files used ({roles}), {len(unused)} not",
            f"labels  {labels or 'none'}",
            f"params  {len(self.params)} settings",
            f"code    {commit}: {self.code.same} of {len(self.code.sources)} sources are there exactly as they ran",
            *(f"        changed since: {path} ({self.code.sources[path]})" for path in self.code.differing),
            *(f"        not in git: {path} ({self.code.sources[path]})" for path in self.code.outside),
            "The files with their sha256: --items. Everything, with all settings and hashes: --json.",
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run.run_id,
            "metrics": self.metrics,
            "stages": list(self.stages),
            "params": dict(self.params),
            "data_version": self.data_version,
            "items": self.items.to_dict("records"),
            "labels": {name: {"md5": oid, "rows": rows} for name, (oid, rows) in self.labels.items()},
            "code": {
                "commit": self.code.commit,
                "sources": dict(self.code.sources),
                "differing": list(self.code.differing),
                "outside": list(self.code.outside),
            },
        }


@dataclass(frozen=True)
class Use:
    """A run that used a file, with the item id and role; a file in quarantine has no role."""

    run: Run
    item_id: str
    role: str
    status: str


def trace(root: Path, runs: Runs, objects: Objects, name: str, metric: str = "") -> Lineage:
    """The origin of a run's metrics.

    name : any name that `Runs.find` accepts
    metric : `system/method/metric`, or the beginning of it; by default all that the run has
    """
    run = runs.find(name)
    lock = runs.lock(run)
    if metric and not any(f"{known}/".startswith(f"{metric}/") for known in run.metrics):
        some = ", ".join(sorted(run.metrics)[:5])
        raise DataError(f"The run {run} has no metric {metric!r}; it has {some}, ...")
    stages = _upstream(lock, f"data/evaluation/{metric.split('/', 1)[0]}" if metric else "data/evaluation")
    used = Lock(lock.root, {address: lock.stages[address] for address in stages}, lock.params)
    params: dict[str, str] = {}
    for address in stages:
        params |= flatten(lock.stages[address].get("params", {}).get(PARAMS, {}))
    return Lineage(
        run=run,
        metric=metric,
        stages=tuple(stages),
        params=params,
        items=_items(used, objects),
        labels=_labels(used, objects),
        code=_code(root, used, lock.key, run.tags.get("mediarank.git_commit", "none")),
        data_version=lock.data_version,
    )


def uses(runs: Runs, objects: Objects, what: str) -> tuple[list[Use], list[Run]]:
    """The runs that used a file, and the runs for which this is unknown because their data is gone.

    what : an item id, the path of a file, or its sha256 or the beginning of it
    """
    fingerprint = what
    if Path(what).is_file():
        fingerprint = hashlib.sha256(Path(what).read_bytes()).hexdigest()
    remembered: dict[tuple[str, ...], pd.DataFrame] = {}
    found: list[Use] = []
    unknown: list[Run] = []
    for run in runs.all():
        lock = runs.lock(run)
        key = tuple(lock.outs(path).get(path, "") for path in (MEDIA, MANIFEST, ROLES))
        try:
            items = remembered[key] = remembered[key] if key in remembered else _items(lock, objects)
        except MissingObject:
            unknown.append(run)
            continue
        same = items["item_id"] == what
        if len(fingerprint) >= SHORTEST_FINGERPRINT:
            same |= items["sha256"].str.startswith(fingerprint)
        found += [Use(run, *row) for row in items.loc[same, ["item_id", "role", "status"]].itertuples(index=False)]
    return found, unknown


def _upstream(lock: Lock, below: str) -> list[str]:
    """The stages that made the outputs at or below a path, and their dependencies, each after those it needs."""
    makers = {str(out["path"]): address for address, stage in lock.stages.items() for out in stage.get("outs", ())}
    order: list[str] = []

    def visit(address: str) -> None:
        if address in order:
            return
        for dep in lock.stages[address].get("deps", ()):
            for path, maker in makers.items():
                if _overlap(path, str(dep["path"])):
                    visit(maker)
        order.append(address)

    for path in lock.outs(below):
        visit(makers[path])
    return order


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _items(lock: Lock, objects: Objects) -> pd.DataFrame:
    """Every item of the version: its fingerprints, and its role."""
    manifest, roles = (_table(lock, path, objects) for path in (MANIFEST, ROLES))
    if manifest is None:
        raise DataError(f"The run's lock has no {MANIFEST}, so its items are not known.")
    table = manifest[["item_id", "kind", "sha256", "status"]].copy()
    media = lock.outs(MEDIA).get(MEDIA)
    contents = objects.listing(media) if media else {}
    if INDEX in contents:
        shard_of = listed(io.BytesIO(objects.read(contents[INDEX])), "shard")
        contents = {item: contents.get(shard, "") for item, shard in shard_of.items()}
    role_of = dict(zip(roles["item_id"], roles["role"], strict=True)) if roles is not None else {}
    table["md5"] = [contents.get(item, "") for item in table["item_id"]]
    table["role"] = [role_of.get(item, "") for item in table["item_id"]]
    return table[["item_id", "kind", "sha256", "md5", "role", "status"]]


def _table(lock: Lock, path: str, objects: Objects) -> pd.DataFrame | None:
    oid = lock.outs(path).get(path)
    return pd.read_parquet(io.BytesIO(objects.read(oid))) if oid else None


def _labels(lock: Lock, objects: Objects) -> dict[str, tuple[str, int]]:
    path = labels_folder(lock)
    folder = lock.outs(path).get(path)
    tables = objects.listing(folder) if folder else {}
    return {
        name.removesuffix(".csv"): (oid, len(objects.read(oid).splitlines()) - 1)
        for name, oid in sorted(tables.items())
    }


def _code(root: Path, lock: Lock, key: str, tagged: str) -> Code:
    """The commit that contains most of the code as it ran.

    A run is often made before its code is committed, so commits whose lock is this run's are tried too, besides the
    commit that was checked out.
    """
    commits = [tagged] if ask_git(root, "cat-file", "-e", f"{tagged}^{{commit}}") is not None else []
    if commits or ask_git(root, "rev-parse", "HEAD"):
        commits += [version.commit for version in history(root) if version.commit and version.lock.key == key]
    tried = [Code(commit, lock.sources, *_compared(root, commit, lock.sources)) for commit in dict.fromkeys(commits)]
    return max(tried, key=lambda code: code.same, default=Code("", lock.sources, (), tuple(lock.sources)))


def _compared(root: Path, commit: str, sources: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sources that differ in the commit, and the sources that are missing there."""
    inside = [path for path in sources if not Path(path).is_absolute() and not path.startswith("..")]
    listed = ask_git(root, "ls-tree", "-r", "--name-only", "-z", commit, "--", *inside) if inside else ""
    names = [name for name in (listed or "").split("\0") if name]
    contents = files_at(root, [(commit, name) for name in names])
    hashes = {name: content_hash(c) for name, c in zip(names, contents, strict=True) if c is not None}
    found = {path: _hash_of(path, hashes) for path in sources}
    differing = tuple(path for path, oid in sources.items() if found[path] and found[path] != oid)
    return differing, tuple(path for path in sources if not found[path])


def _hash_of(path: str, hashes: Mapping[str, str]) -> str:
    """DVC's hash of a file or a folder, from the hashes of all files; empty if it does not exist."""
    if path in hashes:
        return hashes[path]
    inside = {name.removeprefix(f"{path}/"): oid for name, oid in hashes.items() if name.startswith(f"{path}/")}
    return folder_hash(inside) if inside else ""
