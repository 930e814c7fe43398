"""The versions of the data: commits in which dvc.lock differs from the commit before, and the tags that name them.

`history` lists them, newest first; the workspace comes first if its lock is not committed. `describe` adds the changes
of each in the collection and how well its systems do, from contents found by hash: nothing is checked out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from mediarank.ops.runs.tracked_values import evaluated_systems, parse_metrics
from mediarank.ops.versions.changes import DataChanges, data_changes
from mediarank.ops.versions.git import ask_git, files_at, git
from mediarank.ops.versions.lockfile import LOCK, PARAMS, PLAN, Lock, parse_lock
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError

HEADLINES: Final = ("map", "accuracy", "f1")
"""Metrics to show for a system by default: the first of these that it has."""


@dataclass(frozen=True)
class Version:
    """A committed run; `commit` is empty for an uncommitted one in the workspace."""

    commit: str
    tags: tuple[str, ...]
    when: datetime
    subject: str
    lock: Lock

    @property
    def name(self) -> str:
        return self.tags[0] if self.tags else self.commit[:9] or "(workspace)"


@dataclass(frozen=True)
class Described:
    """A version, its differences to the version before, and its metrics as `system/method/metric`.

    changes, metrics : None if the contents are neither in the cache nor in the remote
    same_as : an earlier version with exactly the same results
    """

    version: Version
    changes: DataChanges | None
    metrics: Mapping[str, float] | None
    same_as: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        version = self.version
        return {
            "name": version.name,
            "commit": version.commit,
            "tags": list(version.tags),
            "when": version.when.isoformat(),
            "subject": version.subject,
            "data_version": version.lock.data_version,
            "changes": None if self.changes is None else self.changes.summary(),
            "metrics": None if self.metrics is None else dict(self.metrics),
            "same_as": self.same_as,
        }

    def summary(self, metric: str | None = None) -> str:
        """A few lines for people: its name, its changes, the best method of each system."""
        version = self.version
        name = "  ".join([version.commit[:9] or version.name, *version.tags])
        again = f" (= {self.same_as})" if self.same_as else ""
        changed = self.changes.summary() if self.changes is not None else "neither in the cache nor in the remote"
        best = headlines(self.metrics or {}, metric).items()
        lines = [
            f"{name}  {version.when.astimezone():%Y-%m-%d %H:%M}  {version.subject}{again}",
            f"    data {version.lock.data_version[:9]}: {changed}",
            *(f"    {system}: {method} {shown} {value:.3f}" for system, (method, shown, value) in best),
        ]
        return "\n".join(lines)


def history(root: Path, last: int | None = None) -> list[Version]:
    """Versions, newest first: ancestors of the current commit, and those that a tag names.

    last : at most this many
    """
    root = root.resolve()
    tagged = _tags(root)
    limit = [f"--max-count={last}"] if last else []
    # HEAD may not exist yet; tags keep commits that a reset left behind or that are on another branch.
    reachable = [*(["HEAD"] if ask_git(root, "rev-parse", "--verify", "HEAD") else []), *tagged]
    order = "--date-order"  # no parent before its child, also within one second
    logged = git(root, "log", order, *limit, "--format=%H%x09%cI%x09%s", *reachable, "--", LOCK) if reachable else ""
    commits = [line.split("\t", 2) for line in logged.splitlines()]
    committed = _read(root, [commit for commit, _, _ in commits])
    found = [
        Version(commit, tuple(tagged.get(commit, ())), datetime.fromisoformat(when), subject, committed[commit])
        for commit, when, subject in commits
        if commit in committed  # a commit that removed dvc.lock is no version
    ]
    return [*_uncommitted(root), *found]


def find_version(root: Path, name: str) -> Version:
    """The version that a commit, tag or branch stands for: what dvc.lock says there."""
    commit = ask_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not commit:
        raise DataError(f"There is no version {name!r}: give a commit or tag that `mediarank versions` lists.")
    found = _read(root, [commit])
    if commit not in found:
        raise DataError(
            f"{name} ({commit[:9]}) is no version: it has no {LOCK}. `mediarank versions` lists those that have."
        )
    when, subject = git(root, "log", "-1", "--format=%cI%x09%s", commit).split("\t", 1)
    tags = git(root, "tag", "--points-at", commit).split()
    return Version(commit, tuple(tags), datetime.fromisoformat(when), subject, found[commit])


def describe(versions: Sequence[Version], objects: Objects) -> list[Described]:
    """The changes of each version and its results; each is compared with the next one in the list.

    The last one of a truncated list thus counts as the very first version: ask for one more than you show.
    """
    earlier: dict[str, str] = {}
    described = []
    before: Version | None = None
    for version in reversed(versions):
        changes = metrics = None
        try:
            changes = data_changes(before.lock if before else None, version.lock, objects)
            metrics = version_metrics(version.lock, objects)
        except DataError:  # not available here: the version is shown nevertheless
            pass
        described.append(Described(version, changes, metrics, earlier.get(version.lock.key, "")))
        earlier.setdefault(version.lock.key, version.name)
        before = version
    return described[::-1]


def version_metrics(lock: Lock, objects: Objects) -> dict[str, float]:
    """All metrics of a version, `system/method/metric`."""
    metrics: dict[str, float] = {}
    for system in evaluated_systems(lock):
        path = f"data/evaluation/{system}/metrics.json"
        if oid := lock.outs(path).get(path):
            measured = parse_metrics(objects.read(oid), path)
            metrics |= {f"{system}/{name}": value for name, value in measured.items()}
    return metrics


def headlines(metrics: Mapping[str, float], wanted: str | None = None) -> dict[str, tuple[str, str, float]]:
    """The best method of each system, the deciding metric, and its value."""
    best: dict[str, tuple[str, str, float]] = {}
    for system in sorted({name.split("/", 1)[0] for name in metrics}):
        own = {tuple(name.split("/", 1)[1].rsplit("/", 1)): v for name, v in metrics.items() if _of(name) == system}
        known = {metric for _, metric in own}
        shown = next((metric for metric in ((wanted,) if wanted else HEADLINES) if metric in known), None)
        if shown:
            value, method = max((value, method) for (method, metric), value in own.items() if metric == shown)
            best[system] = (method, shown, value)
    return best


def _of(name: str) -> str:
    return name.split("/", 1)[0]


def _tags(root: Path) -> dict[str, list[str]]:
    """Version's commit -> tags: a tag on a later commit also names the run that was current then."""
    own: dict[str, list[str]] = {}
    later: dict[str, list[str]] = {}
    for tag in git(root, "tag", "--sort=creatordate").split():
        commit = ask_git(root, "rev-list", "-1", tag, "--", LOCK)
        if commit:
            same = ask_git(root, "rev-list", "-1", tag) == commit
            (own if same else later).setdefault(commit, []).append(tag)  # dates of git are whole seconds
    return {commit: [*own.get(commit, []), *later.get(commit, [])] for commit in {**own, **later}}


def _read(root: Path, commits: Sequence[str]) -> dict[str, Lock]:
    """The lock of each commit that has one."""
    names = (LOCK, PLAN, PARAMS)
    contents = iter(files_at(root, [(commit, name) for commit in commits for name in names]))
    locks = {}
    for commit in commits:
        lock, plan, params = (next(contents) for _ in names)
        if lock is not None and plan is not None and params is not None:
            locks[commit] = parse_lock(root, lock, plan, params, commit[:9])
    return locks


def _uncommitted(root: Path) -> list[Version]:
    """The workspace's own lock, if it is not committed."""
    if not (root / LOCK).exists() or not git(root, "status", "--porcelain", "--", LOCK):
        return []
    lock, plan, params = ((root / name).read_bytes() for name in (LOCK, PLAN, PARAMS))
    when = datetime.fromtimestamp((root / LOCK).stat().st_mtime).astimezone()
    return [Version("", (), when, "not committed yet", parse_lock(root, lock, plan, params, "the workspace"))]
