"""A hostile folder: links that leave it are refused, pipes and sockets are listed and never opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import cv2
import numpy as np
import pytest

from mediarank.collections.containment import RealPaths, irregular_below, require_regular
from mediarank.collections.sources import CollectionConfig, collect
from mediarank.collections.tree import obstacles
from mediarank.types import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "pictures"
    (home / "sea").mkdir(parents=True)
    for name in ("sea/1.png", "sea/2.png"):
        cv2.imwrite(str(home / name), np.zeros((8, 8, 3), np.uint8))
    return home


def collected(folder: Path, media: Path, follow_links: bool = False) -> list[str]:
    return sorted(collect(CollectionConfig("folder", str(folder), follow_links=follow_links), media).files)


def test_a_link_that_leaves_the_collection_is_refused_unless_asked_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes((folder / "sea/1.png").read_bytes())
    (folder / "sea/3.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match=r"sea/3.png -> .*secret.png.*follow_links"):
        collected(folder, tmp_path / "refused")
    assert collected(folder, tmp_path / "media", follow_links=True) == ["sea/1.png", "sea/2.png", "sea/3.png"]


def test_a_link_inside_the_collection_is_an_item(folder: Path, tmp_path: Path) -> None:
    (folder / "sea/3.png").symlink_to("1.png")
    assert collected(folder, tmp_path / "media") == ["sea/1.png", "sea/2.png", "sea/3.png"]


def test_pipes_and_sockets_are_listed_and_never_opened(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening the pipe would hang until the test's time is over."""
    os.mkfifo(folder / "sea/pipe.png")
    os.mkfifo(folder / "labels.csv")
    (folder / "sea/4.png").symlink_to(folder / "sea/pipe.png")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.mp4")
        assert collected(folder, tmp_path / "media") == ["sea/1.png", "sea/2.png"]
        noted = capsys.readouterr().err
        assert "sea/pipe.png is a pipe" in noted
        assert "socket.mp4 is a socket" in noted
        assert len(list(irregular_below(folder))) == 4
        assert sum("move it away" in line for line in obstacles(folder)) == 4
        with pytest.raises(DataError, match="4 files below"):
            require_regular(folder)


def test_a_device_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    assert [kind for _, kind in irregular_below(tmp_path)] == ["a device"]


def test_a_plain_folder_passes(folder: Path) -> None:
    require_regular(folder)
    require_regular(folder / "none")


def test_real_paths_of_files_links_and_linked_folders(tmp_path: Path) -> None:
    (tmp_path / "real/deep").mkdir(parents=True)
    (tmp_path / "real/deep/a.jpg").write_bytes(b"a")
    (tmp_path / "other.jpg").write_bytes(b"o")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "real/link.jpg").symlink_to("../other.jpg")
    real_path = RealPaths()
    for name in ("real/deep/a.jpg", "linked/deep/a.jpg", "real/link.jpg", "linked/link.jpg", "other.jpg"):
        assert real_path(tmp_path / name) == str((tmp_path / name).resolve())
