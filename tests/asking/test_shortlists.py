"""A shortlist is built once per version, measured, kept, and used; a damaged one is built again."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from mediarank.asking import shortlists
from mediarank.asking.shortlists import open_shortlist
from mediarank.asking.workspace import Workspace
from mediarank.teaching.taught_ranker import open_teacher

ITEM = "images/sea_002.png"


def test_it_is_built_once_per_version(space: Workspace, tmp_path: Path) -> None:
    live = open_teacher(space, tmp_path / "feedback")[0].live
    said: list[str] = []
    folder = tmp_path / "shortlist"
    first = open_shortlist(live, {"lab": "1", "hue": "2"}, folder, said.append)
    assert len(said) == 2
    assert "72 items" in said[0]
    assert "100.0%" in said[1]
    again = open_shortlist(live, {"lab": "1", "hue": "2"}, folder, said.append)
    assert len(said) == 2
    vectors = live.vectors(ITEM)
    exact = live.search(vectors, 5, ITEM)
    assert [live.search(vectors, 5, ITEM, short) for short in (first, again)] == [exact, exact]
    [before] = folder.iterdir()
    open_shortlist(live, {"lab": "1", "hue": "3"}, folder, said.append)
    [after] = folder.iterdir()
    assert before != after, "other vectors get another"
    assert len(said) == 4


def test_a_damaged_one_is_built_again_and_one_that_cannot_be_kept_is_used(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = open_teacher(space, tmp_path / "feedback")[0].live
    said: list[str] = []
    folder = tmp_path / "shortlist"
    open_shortlist(live, {}, folder, said.append)
    [index] = folder.rglob(shortlists.INDEX)
    whole = index.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    index.write_bytes(damaged)
    again = open_shortlist(live, {}, folder, said.append)
    assert len(said) == 4
    assert index.read_bytes() == whole
    assert live.search(live.vectors(ITEM), 5, ITEM, again) == live.search(live.vectors(ITEM), 5, ITEM)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shortlists, "_write", full)
    made = open_shortlist(live, {"lab": "other"}, folder, said.append)
    assert "can't be kept" in said[4]
    assert live.search(live.vectors(ITEM), 5, ITEM, made) == live.search(live.vectors(ITEM), 5, ITEM)
