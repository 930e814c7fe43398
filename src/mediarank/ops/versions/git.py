"""Run git on the project; nothing here changes a repository unless the caller says so."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from mediarank.types import MediarankError


class GitError(MediarankError):
    """Git is missing, or refused a command."""


def git(root: Path, *arguments: str) -> str:
    """The output of git without the line end; raises an error with git's message if it fails."""
    done = _run(root, arguments)
    if done.returncode:
        raise GitError(f"git {arguments[0]} failed in {root}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def ask_git(root: Path, *arguments: str) -> str | None:
    """The output of git, or None if it fails: no repository, no commit, no git."""
    try:
        done = _run(root, arguments)
    except GitError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def files_at(root: Path, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
    """The content of each (commit, path below `root`), None if the commit has no such file; one process for all."""
    names = "".join(f"{commit}:./{path}\n" for commit, path in wanted)
    done = subprocess.run(
        ["git", "-C", str(root), "cat-file", "--batch"], input=names.encode(), capture_output=True, check=False
    )
    if done.returncode:
        raise GitError(f"git cat-file failed in {root}: {done.stderr.decode(errors='replace').strip()}")
    found: list[bytes | None] = []
    rest = done.stdout
    for _ in wanted:
        head, _, rest = rest.partition(b"\n")
        # "<hash> blob <bytes>", or "<name> missing"
        if head.endswith(b" missing"):
            found.append(None)
            continue
        length = int(head.rsplit(b" ", 1)[1])
        found.append(rest[:length])
        rest = rest[length + 1 :]
    return found


def _run(root: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise GitError("git is not installed; data versions are git commits, so they need it.") from None
