"""Versions whose media are in shards: what changed between two, and which shards DVC's cache already has."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mediarank.media.files import Held
from mediarank.media.shards import ShardWriter
from mediarank.ops.versions.changes import MEDIA, data_changes
from mediarank.ops.versions.kept_shards import KeptShards
from mediarank.ops.versions.objects import CACHE_VARIABLE
from mediarank.ops.versions.objects import Objects as DvcObjects


class Objects:
    """Folders on disk in place of DVC's cache; a folder's hash is its path."""

    def listing(self, oid: str) -> dict[str, str]:
        return {path.relative_to(oid).as_posix(): str(path) for path in Path(oid).rglob("*") if path.is_file()}

    def read(self, oid: str) -> bytes:
        return Path(oid).read_bytes()


def lock(folder: Path) -> Any:
    return SimpleNamespace(outs=lambda below: {MEDIA: str(folder)} if below == MEDIA else {})


def pack(folder: Path, files: dict[str, bytes]) -> Any:
    with ShardWriter(folder) as shards:
        for path, content in sorted(files.items()):
            shards.add(path, Held(path, content), len(content), hashlib.sha256(content).hexdigest())
    return lock(folder)


def test_items_are_compared_not_shards(tmp_path: Path) -> None:
    before = pack(tmp_path / "one", {"a.jpg": b"a", "b.jpg": b"b", "c.jpg": b"c"})
    after = pack(tmp_path / "two", {"a.jpg": b"a", "b.jpg": b"other", "d.jpg": b"d"})
    found = data_changes(before, after, Objects())  # type: ignore[arg-type]
    assert (found.added, found.removed, found.changed) == (("d.jpg",), ("c.jpg",), ("b.jpg",))
    assert len(data_changes(None, after, Objects()).added) == 3  # type: ignore[arg-type]


def test_versions_with_plain_files_still_count(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.jpg").write_bytes(b"a")
    found = data_changes(None, lock(tmp_path / "plain"), Objects())  # type: ignore[arg-type]
    assert found.added == ("a.jpg",)


def test_what_the_cache_has_is_found_by_name(versioned: Path, tmp_path: Path) -> None:
    with KeptShards(versioned, "data/raw/media") as kept:
        media = versioned / "data/raw/media"
        name = next(path for path in media.rglob("*") if path.is_file()).relative_to(media).as_posix()
        path = kept(name)
        assert path is not None
        assert path.read_bytes() == (media / name).read_bytes()
        assert ".dvc" in path.parts
        assert kept("images/none.jpg") is None
    with KeptShards(tmp_path / "without a lock", "data/raw/media") as none:
        assert none("images/forest.jpg") is None


def without_dvc(self: DvcObjects) -> Any:
    raise AssertionError("DVC was opened")


def test_a_stage_of_a_run_finds_shards_without_dvc(versioned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    media = versioned / "data/raw/media"
    names = [path.relative_to(media).as_posix() for path in media.rglob("*") if path.is_file()]
    with KeptShards(versioned, "data/raw/media") as kept:
        expected = {name: kept(name) for name in names}
    note = json.dumps([str(versioned.resolve()), str(versioned.resolve() / ".dvc/cache/files/md5")])
    monkeypatch.setenv(CACHE_VARIABLE, note)
    monkeypatch.setattr(DvcObjects, "_repo", property(without_dvc))
    monkeypatch.chdir(versioned)
    with KeptShards(Path(), "data/raw/media") as kept:
        assert {name: kept(name) for name in names} == expected
        assert kept("images/none.jpg") is None


def test_the_cache_of_another_project_is_not_used(
    versioned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage may run another project's commands, which inherit its environment."""
    with DvcObjects(versioned) as objects:
        expected = objects.path("0123")
    monkeypatch.setenv(CACHE_VARIABLE, json.dumps([str(tmp_path / "other"), str(tmp_path / "other/cache")]))
    monkeypatch.setenv("DVC_ROOT", str(versioned))
    with DvcObjects(versioned) as objects:
        assert objects.path("0123") == expected
