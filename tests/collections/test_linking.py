"""Originals are linked without a copy, and changes to the links do not reach them."""

from __future__ import annotations

import configparser
import errno
import fcntl
from pathlib import Path

import pytest
from small_sources import write

from mediarank.collections.linking import link_into

ROOT = Path(__file__).parents[2]


@pytest.fixture
def originals(tmp_path: Path) -> Path:
    folder = write(tmp_path / "originals", {"a.jpg": "one", "deep/b.jpg": "two"})
    (folder / "a.jpg").chmod(0o640)
    return folder


def files(folder: Path) -> dict[str, Path]:
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*.jpg")}


def test_every_original_appears_under_its_id(originals: Path, tmp_path: Path) -> None:
    link_into({"new/name.jpg": originals / "a.jpg", **files(originals)}, tmp_path / "media")
    found = files(tmp_path / "media")
    assert {item: path.read_text() for item, path in found.items()} == {
        "new/name.jpg": "one",
        "a.jpg": "one",
        "deep/b.jpg": "two",
    }


def test_a_link_shares_neither_inode_nor_mode(originals: Path, tmp_path: Path) -> None:
    before = (originals / "a.jpg").stat()
    link_into(files(originals), tmp_path / "media")
    link = tmp_path / "media/a.jpg"
    assert link.lstat().st_ino != before.st_ino
    link.unlink()
    after = (originals / "a.jpg").stat()
    assert (after.st_mode, after.st_nlink, after.st_mtime_ns) == (before.st_mode, 1, before.st_mtime_ns)
    assert (originals / "a.jpg").read_text() == "one"


def test_a_reflink_is_asked_for_first(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clone(target: int, request: int, source: int) -> int:
        assert request == 0x40049409
        with open(target, "wb", closefd=False) as to, open(source, "rb", closefd=False) as of:
            to.write(of.read())
        return 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    link_into(files(originals), tmp_path / "media")
    assert not (tmp_path / "media/a.jpg").is_symlink()
    assert (tmp_path / "media/a.jpg").read_text() == "one"


def no_reflink(*_: object) -> int:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


def test_a_symbolic_link_is_next_and_a_copy_the_last_resort(
    originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", no_reflink)
    link_into(files(originals), tmp_path / "linked")
    assert (tmp_path / "linked/a.jpg").readlink() == (originals / "a.jpg").resolve()

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    link_into(files(originals), tmp_path / "copied")
    assert not (tmp_path / "copied/a.jpg").is_symlink()
    assert (tmp_path / "copied/a.jpg").read_text() == "one"


def test_a_link_of_the_users_is_followed_to_its_end(originals: Path, tmp_path: Path) -> None:
    (originals / "alias.jpg").symlink_to("a.jpg")
    link_into({"alias.jpg": originals / "alias.jpg"}, tmp_path / "media")
    (originals / "alias.jpg").unlink()
    assert (tmp_path / "media/alias.jpg").read_text() == "one"


def test_dvc_does_not_take_originals_into_its_cache_by_hard_link() -> None:
    """With hardlink as the first cache type, DVC links what it finds behind a link, and makes it read-only."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".dvc/config")
    assert config["cache"]["type"].strip('"').split(",")[0] == "reflink"
