"""Which files belong to a collection, and that skipped files are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_sources import put

from mediarank.collections.tree import media_below, obstacles
from mediarank.types import DataError


def test_media_in_the_order_of_their_ids(tmp_path: Path) -> None:
    put(tmp_path, "b/2.JPG", "b/10.png", "a.mp4", "notes.txt", "b/sound.ogg", "archive.zip")
    tree = media_below(tmp_path)
    assert list(tree.files) == ["a.mp4", "b/10.png", "b/2.JPG", "b/sound.ogg"]
    assert tree.files["b/2.JPG"] == tmp_path / "b/2.JPG"
    assert tree.notes == ()
    assert tree.other_files == ("skipped 2 (.txt 1, .zip 1): not an image, clip or sound, such as notes.txt",)


def test_hidden_files_and_folders_are_skipped(tmp_path: Path) -> None:
    put(tmp_path, "a.jpg", "._a.jpg", ".thumbnails/a.jpg", "__MACOSX/a.jpg", "b/.hidden.png")
    assert list(media_below(tmp_path).files) == ["a.jpg"]


def test_links_to_files_count_and_links_to_folders_are_reported(tmp_path: Path) -> None:
    here = put(tmp_path / "here", "a.jpg")
    put(tmp_path / "there", "b.jpg")
    (here / "b.jpg").symlink_to(tmp_path / "there/b.jpg")
    (here / "nowhere.jpg").symlink_to(tmp_path / "gone.jpg")
    (here / "more").symlink_to(tmp_path / "there")
    (here / "loop").symlink_to(here)
    tree = media_below(here)
    assert list(tree.files) == ["a.jpg", "b.jpg"]
    assert len(tree.notes) == 2
    assert "skipped 2 (link 2): links to folders are not followed" in tree.notes[0]
    assert "skipped 1 (link 1): the link leads nowhere" in tree.notes[1]


def test_names_that_are_no_utf8_are_escaped_and_never_lost(tmp_path: Path) -> None:
    for name in (b"caf\xe9.jpg", b"caf%E9.jpg", b"new\nline.png", b"back\\slash.png"):
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    tree = media_below(tmp_path)
    assert list(tree.files) == ["back%5Cslash.png", "caf%E9.jpg", "caf%E9~.jpg", "new%0Aline.png"]
    assert tree.files["caf%E9.jpg"].read_bytes() == b"caf%E9.jpg"
    assert tree.files["caf%E9~.jpg"].read_bytes() == b"caf\xe9.jpg"


def test_a_folder_that_can_not_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.jpg", "locked/b.jpg")
    scan = os.scandir

    def refuse(folder: Path) -> object:
        if Path(folder).name == "locked":
            raise PermissionError(13, "Permission denied", str(folder))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    tree = media_below(tmp_path)
    assert list(tree.files) == ["a.jpg"]
    assert tree.notes == ("skipped 1 (folder 1): the folder can't be read, such as locked",)


def test_what_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a folder"):
        media_below(tmp_path / "nowhere")


def test_what_stops_dvc_is_found_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.jpg", "new\nline.jpg", ".hidden/b.txt", "locked.jpg")
    assert obstacles(tmp_path) == []
    (tmp_path / os.fsdecode(b"caf\xe9.jpg")).write_bytes(b"")
    (tmp_path / ".hidden/nowhere").symlink_to("gone")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked.jpg" and access(path, mode))
    assert sorted(line.removeprefix(f"{tmp_path}/") for line in obstacles(tmp_path)) == [
        ".hidden/nowhere is a link that leads nowhere; remove it",
        "caf%E9.jpg: its name is not UTF-8; rename it",
        "locked.jpg can't be read; make it readable, or move it away",
    ]
