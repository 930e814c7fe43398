"""The tree made from kept hashes is DVC's tree; in doubt DVC makes its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from versioned_project import dvc, git

from mediarank.ops.runs import source_hashes
from mediarank.ops.runs.source_hashes import SourceHashes
from mediarank.ops.runs.unchanged_sources import Listing, list_folder

OLD = 1_600_000_000_123_456_789
FILES = {"a.jpg": "a", "sea/b.jpg": "b", "sea/deep/ü 海.jpg": "c", "sea.jpg": "d", "empty": "", 'q"\\\n.txt': "e"}


def write(path: Path, text: str, changed: int = OLD) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(changed, changed))


class Source:
    """A folder beside a DVC project, built by DVC and from the kept hashes."""

    def __init__(self, folder: Path, repo: Any) -> None:
        self.folder, self.repo = folder, repo
        self.cache = Path(repo.root_dir) / "kept"

    @property
    def arguments(self) -> tuple[Any, ...]:
        from dvc.fs import localfs

        return self.repo.cache.local, str(self.folder), localfs, "md5"

    @property
    def hashes(self) -> SourceHashes:
        return SourceHashes(str(self.folder), Path(self.repo.root_dir), self.cache)

    @property
    def table(self) -> Path:
        return next(self.cache.iterdir())

    def dvc_builds(self) -> Any:
        from dvc_data.hashfile.build import build

        return build(*self.arguments, ignore=self.repo.dvcignore, dry_run=True)

    def keep(self) -> None:
        listing = list_folder(str(self.folder))
        self.hashes.keep(listing, self.dvc_builds()[2])

    def built(self, listing: Listing | None = None, **settings: Any) -> Any:
        given = {"ignore": self.repo.dvcignore, "dry_run": True} | settings
        return self.hashes.build(listing or list_folder(str(self.folder)), *self.arguments, **given)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """A folder whose hashes are kept."""
    from dvc.repo import Repo

    root, folder = tmp_path / "project", tmp_path / "photos"
    root.mkdir()
    for name, text in FILES.items():
        write(folder / name, text)
    git(root, "init", "--quiet")
    dvc(root, "init", "--quiet")
    with Repo(str(root)) as repo:
        found = Source(folder, repo)
        found.keep()
        yield found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read."""
    names: list[str] = []
    plain = source_hashes._md5

    def noting(path: str) -> str:
        names.append(Path(path).name)
        return plain(path)

    monkeypatch.setattr(source_hashes, "_md5", noting)
    return names


def add(folder: Path) -> None:
    write(folder / "new/ñ.jpg", "new")


def add_twice(folder: Path) -> None:
    write(folder / "copy.jpg", "a")


def change_length(folder: Path) -> None:
    write(folder / "a.jpg", "longer")


def change_time(folder: Path) -> None:
    write(folder / "a.jpg", "x", OLD + 10**9)  # DVC compares times as floats


def change_inode(folder: Path) -> None:
    write(folder / "other", "x")
    (folder / "other").replace(folder / "a.jpg")


def remove(folder: Path) -> None:
    (folder / "a.jpg").unlink()


def remove_folder(folder: Path) -> None:
    (folder / "sea/b.jpg").unlink()
    (folder / "sea/deep/ü 海.jpg").unlink()
    (folder / "sea/deep").rmdir()


def move(folder: Path) -> None:
    (folder / "sea").rename(folder / "lake")


def swap_kinds(folder: Path) -> None:
    (folder / "a.jpg").unlink()
    write(folder / "a.jpg/inside", "x")


def nothing(folder: Path) -> None:
    """Change nothing."""


CHANGES = {
    nothing: [],
    add: ["ñ.jpg"],
    add_twice: ["copy.jpg"],
    change_length: ["a.jpg"],
    change_time: ["a.jpg"],
    change_inode: ["a.jpg"],
    remove: [],
    remove_folder: [],
    move: ["b.jpg", "ü 海.jpg"],
    swap_kinds: ["inside"],
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_tree_is_that_of_dvc(source: Source, read: list[str], change: Callable[[Path], None]) -> None:
    change(source.folder)
    staging, meta, tree = source.built()
    assert sorted(read) == sorted(CHANGES[change])
    expected_staging, expected_meta, expected = source.dvc_builds()
    assert tree.hash_info == expected.hash_info
    assert tree.oid == expected.oid
    assert type(tree) is type(expected)
    assert tree.as_list() == expected.as_list()
    assert tree.as_list(with_meta=True) == expected.as_list(with_meta=True)
    assert meta == expected_meta
    assert staging.path == expected_staging.path
    assert type(tree).load(staging, tree.hash_info).as_list() == expected.as_list()
    read.clear()
    assert source.built()[2].hash_info == expected.hash_info
    assert read == []  # the new hashes were kept


def test_a_file_changed_a_moment_ago_is_read_again(source: Source, read: list[str]) -> None:
    (source.folder / "fresh.jpg").write_text("fresh")
    for _ in range(2):
        assert source.built()[2].hash_info == source.dvc_builds()[2].hash_info
    assert read == ["fresh.jpg", "fresh.jpg"]


def test_fresh_files_are_not_kept_from_dvc_either(source: Source, read: list[str]) -> None:
    (source.folder / "fresh.jpg").write_text("fresh")
    source.keep()
    assert source.built()[2].hash_info == source.dvc_builds()[2].hash_info
    assert read == ["fresh.jpg"]


def link_file(folder: Path) -> None:
    (folder / "link.jpg").symlink_to(folder / "a.jpg")


def link_folder(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "sea")


def break_link(folder: Path) -> None:
    (folder / "broken").symlink_to(folder / "nowhere")


def make_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def add_bytecode(folder: Path) -> None:
    write(folder / "sea/__pycache__/x.pyc", "x")


def add_dvcignore(folder: Path) -> None:
    write(folder / "sea/.dvcignore", "*.jpg")


def no_utf8(folder: Path) -> None:
    write(Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jpg")), "x")


def empty(folder: Path) -> None:
    for name in FILES:
        (folder / name).unlink()


UNUSUAL = (link_file, link_folder, break_link, make_pipe, add_bytecode, add_dvcignore, no_utf8, empty)


@pytest.mark.parametrize("change", UNUSUAL, ids=lambda change: change.__name__)
def test_dvc_builds_an_unusual_folder(source: Source, change: Callable[[Path], None]) -> None:
    assert source.built() is not None
    change(source.folder)
    assert source.built() is None


@pytest.mark.parametrize("change", [link_file, link_folder, add_bytecode], ids=lambda change: change.__name__)
def test_an_unusual_folder_is_not_kept(source: Source, change: Callable[[Path], None]) -> None:
    source.table.unlink()
    change(source.folder)
    source.keep()
    assert list(source.cache.iterdir()) == []


def test_ignored_folders_outside_the_project_count_as_for_dvc(source: Source) -> None:
    for name in (".git/config", ".hg/x", ".dvc/config", "x.dvc"):
        write(source.folder / name, "x")
    assert source.built()[2].as_list() == source.dvc_builds()[2].as_list()


def test_dvc_builds_a_folder_around_the_project(source: Source) -> None:
    around = Source(source.folder.parent, source.repo)
    around.cache = source.cache
    before = set(source.cache.iterdir())
    (Path(source.repo.root_dir) / ".dvcignore").unlink()
    around.keep()
    assert around.built() is None
    assert set(source.cache.iterdir()) == before


@pytest.mark.parametrize("damage", ["missing", "short", "changed", "other arrays", "lengths differ"])
def test_dvc_builds_without_an_intact_table(source: Source, damage: str) -> None:
    from mediarank import store

    content = bytearray(source.table.read_bytes())
    if damage == "missing":
        source.table.unlink()
    elif damage == "short":
        source.table.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        content[content.index(b"sea/b.jpg")] ^= 1
        source.table.write_bytes(content)
    else:
        arrays = store.read_arrays(source.table)
        kept = {"paths": arrays["paths"]} if damage == "other arrays" else arrays | {"states": arrays["states"][1:]}
        store.write_arrays(source.table, kept)
    assert source.built() is None
    source.keep()
    assert source.built() is not None


def test_dvc_reads_what_is_removed_meanwhile_or_too_much(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    add(source.folder)
    listing = list_folder(str(source.folder))
    monkeypatch.setattr(source_hashes, "MOST_BYTES", 2)
    assert source.built(listing) is None
    monkeypatch.setattr(source_hashes, "MOST_BYTES", 3)
    (source.folder / "new/ñ.jpg").unlink()
    assert source.built(listing) is None


@pytest.mark.parametrize("settings", [{"dry_run": False}, {"upload": True}])
def test_dvc_builds_what_goes_to_its_cache(source: Source, settings: dict[str, bool]) -> None:
    assert source.built(**settings) is None


def test_a_cache_that_cannot_be_written_to_only_costs_time(source: Source) -> None:
    source.table.unlink()
    source.cache.rmdir()
    source.cache.write_text("a file")
    source.keep()
    assert source.built() is None
