"""Return to an earlier version: its data, params, lock and label journal, as a new commit that can be undone likewise.

Nothing is changed before everything is available: uncommitted changes are refused, and contents that the cache lacks
are fetched first. Then the version's files come from git and its data from DVC, and every file is read and compared
with its hash. A damaged file is fetched again. If that fails, everything is put back as it was. A note in `.mediarank`
records the rollback in progress, so that one that was killed is put back by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mediarank.ops.runs.dvc_repair import repair_rwlock
from mediarank.ops.runs.one_at_a_time import FILE, take
from mediarank.ops.services.environment import state_folder
from mediarank.ops.versions.git import ask_git, files_at, git
from mediarank.ops.versions.history import Version, find_version
from mediarank.ops.versions.lockfile import LOCK, PARAMS, PLAN
from mediarank.ops.versions.objects import Objects
from mediarank.ops.versions.verify import checkout, heal
from mediarank.seals import open_json
from mediarank.teaching.journal import FOLDER, LABEL_STREAM
from mediarank.types import DataError, MediarankError

SETTINGS: Final = (LOCK, PLAN, PARAMS)
BASELINE: Final = "baseline"
JOURNAL: Final = (FOLDER / LABEL_STREAM).as_posix()
"""What people said is part of a version: with today's statements, the next run would undo the rollback."""
RESTORED: Final = (*SETTINGS, BASELINE, JOURNAL, "data")
"""The parts of a version besides its code that git keeps; below `data` only the ignore files."""
NOTE: Final = "rollback.json"
SHOWN: Final = 3
"""How many files a message names."""


class RollbackRefused(MediarankError):
    """The workspace holds something that a rollback would lose, or is in use."""


@dataclass(frozen=True)
class RolledBack:
    """The restored version, the commit before it, and how many files were verified.

    commit : the new commit; empty if the workspace was already at that version
    code : files that stages read and git has, which differ from that version
    outside : inputs of stages that git does not have, such as the folder that a collection comes from
    """

    version: Version
    left: str
    commit: str
    files: int
    code: tuple[str, ...]
    outside: tuple[str, ...]

    def summary(self) -> str:
        """What was done, how to undo it, and what `dvc repro` would now do differently."""
        lines = [f"Restored {self.version.name}: {self.files} files, each verified by its hash."]
        if self.commit:
            lines.append(f"Committed as {self.commit[:9]}. To undo: mediarank rollback {self.left[:9]}")
        if self.code:
            folders = " ".join(sorted({path.split("/", 1)[0] for path in self.code}))
            lines.append(
                f"The code has changed since ({_some(self.code)}): dvc repro would recompute with today's. To get "
                f"that version's code, too: git checkout {self.version.commit[:9]} -- {folders}"
            )
        if self.outside:
            lines.append(
                f"dvc repro would read {', '.join(self.outside)} as it is now, if it has changed. To stay at this "
                "version: dvc freeze collect (dvc unfreeze collect to go on)"
            )
        return "\n".join(lines)


def rollback(
    root: Path, version: str, remote: str | None = None, say: Callable[[str], None] = lambda _: None
) -> RolledBack:
    """Bring a version back into the workspace at `root`.

    version : a commit or tag
    remote : name of the DVC remote to fetch from; by default the project's own
    """
    root = root.resolve()
    with _alone(root):
        repair_rwlock(root)
        _put_back_interrupted(root, say)
        target = find_version(root, version)
        _refuse_uncommitted(root)
        _refuse_edited(root)
        left = git(root, "rev-parse", "HEAD")
        with Objects(root, remote) as objects:
            files = _gather(target, objects, say)
        _refuse_uncommitted(root)  # again: fetching may have taken long, and somebody may have said something meanwhile
        with _noted(root, left, target.commit, say):
            _restore(root, target.commit, say)
            _verify(root, target, files, remote, say)
            commit = _commit(root, target)
        code, outside = _moved_on(root, target)
        return RolledBack(target, left, commit, len(files), code, outside)


def _gather(target: Version, objects: Objects, say: Callable[[str], None]) -> dict[str, str]:
    """Every file of the version, path -> hash; afterwards all are in the cache."""
    say(f"Looking for the data of {target.name} ...")
    files = objects.expanded(target.lock.outs())
    missing = objects.fetch(files.values())
    if missing:
        lost = sorted(path for path, oid in files.items() if oid in missing)
        raise DataError(
            f"{target.name} can't be restored: {len(lost)} of its {len(files)} files are neither in DVC's cache nor in "
            f"the remote: {_some(lost)}. Nothing was changed.\n"
            "What to do: where that version was made, run: dvc push"
        )
    return files


def _refuse_uncommitted(root: Path) -> None:
    """Refuse what git does not have and could be lost: changes of tracked files, a run's lock, new statements."""
    changed = git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
    changed += git(root, "status", "--porcelain", "--", *SETTINGS).splitlines()
    if changed:
        raise RollbackRefused(
            f"There are changes that are not committed: {_some(sorted({line[3:] for line in changed}))}. Commit them "
            "(then they are a version to come back to) or undo them, and try again."
        )
    unknown = git(root, "ls-files", "--others", "--", BASELINE, JOURNAL).splitlines()
    if unknown:
        raise RollbackRefused(
            f"git does not have {_some(unknown)}, which a rollback may overwrite. Commit them or move them away, and "
            "try again."
        )


def _refuse_edited(root: Path) -> None:
    """Refuse data that was changed by hand."""
    edited = _edited_outs(root)
    if edited:
        raise RollbackRefused(
            f"The data is not what {LOCK} says: {_some(edited)}. Keep it by running dvc repro and committing, or drop "
            "it with dvc checkout --force, and try again."
        )


def _edited_outs(root: Path) -> list[str]:
    """Outputs whose content differs from the lock; missing ones can't be lost."""
    from dvc.repo import Repo

    with Repo(str(root), _wait_for_lock=True) as repo:
        outs = [out for stage in repo.index.stages for out in stage.outs if out.hash_info]
        return sorted(str(out) for out in outs if out.exists and out.changed_checksum())


def _restore(root: Path, commit: str, say: Callable[[str], None], allow_missing: bool = False) -> None:
    """Put a version's files and its data into the workspace."""
    known = {p for c in (commit, "HEAD") for p in git(root, "ls-tree", "--name-only", c, "--", *RESTORED).splitlines()}
    paths = sorted(known)  # git refuses a path that it never had
    git(root, "restore", f"--source={commit}", "--staged", "--worktree", "--", *paths)
    say("Checking out the data ...")
    checkout(root, allow_missing)


def _verify(root: Path, target: Version, files: dict[str, str], remote: str | None, say: Callable[[str], None]) -> None:
    """Read every restored file; damage that can't be repaired ends the rollback."""
    verified = heal(root, files, remote, say)
    if verified.gone:
        raise DataError(
            f"{len(verified.gone)} files of {target.name} are damaged in DVC's cache, and not intact in the remote: "
            f"{_some(verified.gone)}. The workspace is as it was.\nWhat to do: where they are intact, run dvc push; or "
            "make them again: git checkout the version and run dvc repro."
        )


def _commit(root: Path, target: Version) -> str:
    """Commit what was restored; returns an empty string if nothing changed."""
    if not git(root, "diff", "--cached", "--name-only"):
        return ""
    known = ask_git(root, "config", "user.email")
    who = () if known else ("-c", "user.name=mediarank", "-c", "user.email=mediarank@localhost")
    git(root, *who, "commit", "--quiet", "--message", f"Roll back to {target.name}: {target.subject}")
    return git(root, "rev-parse", "HEAD")


def _moved_on(root: Path, target: Version) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs of stages that differ from the version's in git, and those that git does not have."""
    sources = list(target.lock.sources)
    below = [path for path in sources if not path.startswith(("/", ".."))]  # git refuses others
    known = set(git(root, "ls-tree", "--name-only", "HEAD", "--", *below).splitlines()) if below else set()
    tracked = [path for path in sources if path in known]
    changed = git(root, "diff", "--name-only", target.commit, "HEAD", "--", *tracked) if tracked else ""
    return tuple(changed.splitlines()), tuple(path for path in sources if path not in known)


@contextmanager
def _noted(root: Path, left: str, target: str, say: Callable[[str], None]) -> Iterator[None]:
    """Record that a rollback is in progress; if it fails, put everything back."""
    from mediarank import store

    note = state_folder(root) / NOTE
    store.write_json(note, {"left": left, "target": target})
    try:
        yield
    except BaseException:
        _put_back(root, left, say)
        raise
    note.unlink()


def _put_back_interrupted(root: Path, say: Callable[[str], None]) -> None:
    """Undo what a killed rollback had begun, unless files were changed since."""
    note = state_folder(root) / NOTE
    if not note.exists():
        return
    begun = open_json(note.read_bytes())
    if git(root, "rev-parse", "HEAD") != begun["left"]:  # it was killed after its commit
        note.unlink()
        return
    for name in SETTINGS:
        here = (root / name).read_bytes() if (root / name).exists() else None
        if here is not None and here not in files_at(root, [(begun["left"], name), (begun["target"], name)]):
            raise RollbackRefused(
                f"An earlier rollback was interrupted, and {name} was changed since. To put back what was before it: "
                f"git restore --source={begun['left'][:9]} --staged --worktree {' '.join(SETTINGS)}; dvc checkout; and "
                f"delete {note}"
            )
    say("An earlier rollback was interrupted.")
    _put_back(root, begun["left"], say)


def _put_back(root: Path, left: str, say: Callable[[str], None]) -> None:
    say("Putting everything back ...")
    _restore(root, left, say, allow_missing=True)  # in a clone the data was not there before
    (state_folder(root) / NOTE).unlink(missing_ok=True)


def _some(names: Sequence[str]) -> str:
    """`a, b, c and 14 more`"""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold the workspace; if a run has it, refuse instead of waiting, because the run would remake the data."""
    held = take(root)
    if held is None:
        raise RollbackRefused(
            f"A run has this workspace ({(state_folder(root) / FILE).read_text()}); wait until it ends, or cancel it."
        )
    try:
        yield
    finally:
        os.close(held)
