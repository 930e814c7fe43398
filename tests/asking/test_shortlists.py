"""A shortlist is built once a version, measured, kept, and used."""

from __future__ import annotations

from pathlib import Path

from fitted_project import make

from mediarank import store
from mediarank.asking.search import open_live
from mediarank.asking.shortlists import open_shortlist


def test_it_is_built_once_a_version(fitted: Path, tmp_path: Path) -> None:
    live, _, _ = open_live(fitted / "data", tmp_path / "feedback")
    said: list[str] = []
    first = open_shortlist(live, fitted, tmp_path / "shortlist", said.append)
    assert len(said) == 2
    assert said[0].startswith("A shortlist of 72 items was built")
    assert said[1] == "It finds 100.0% of the first 20 that a search of everything finds."
    again = open_shortlist(live, fitted, tmp_path / "shortlist", said.append)
    assert len(said) == 2
    item = "images/sea_002.png"
    vectors = live.vectors(item)
    exact = live.search(vectors, 5, item)
    assert [live.search(vectors, 5, item, short) for short in (first, again)] == [exact, exact]


def test_another_version_of_the_features_gets_another(fitted: Path, tmp_path: Path) -> None:
    live, _, _ = open_live(fitted / "data", tmp_path / "feedback")
    folder = tmp_path / "shortlist"
    open_shortlist(live, fitted, folder, print)
    [before] = folder.iterdir()
    other = make(tmp_path / "other", items=60)
    live, _, _ = open_live(other / "data", tmp_path / "feedback")
    short = open_shortlist(live, other, folder, print)
    [after] = folder.iterdir()
    assert before != after
    assert short.index.ntotal == 60 == len(store.read_features(other / "data/features/lab"))
