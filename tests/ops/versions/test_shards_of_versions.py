"""Versions whose media are in shards: what changed between two, and which shards DVC's cache already has."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mediarank.media.files import Held
from mediarank.media.shards import ShardWriter
from mediarank.ops.versions.changes import MEDIA, data_changes
from mediarank.ops.versions.kept_shards import KeptShards


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
