"""A shortlist is built once per version, measured, kept, and used."""

from __future__ import annotations

from pathlib import Path

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
