"""Search by example and feedback, from the outputs of the stages."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mediarank import store
from mediarank.asking.items import Asked
from mediarank.asking.search import hits_page, query_vectors
from mediarank.asking.workspace import Workspace
from mediarank.cli import app
from mediarank.teaching.feedback import Event
from mediarank.teaching.taught_ranker import open_teacher
from mediarank.types import DataError

ITEM, OTHER = "images/sea_002.png", "images/fire_000.png"


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def test_feedback_outlives_the_session_and_the_next_search_uses_it(space: Workspace, tmp_path: Path) -> None:
    teacher, log, _ = open_teacher(space, tmp_path / "feedback")
    vectors = teacher.live.vectors(ITEM)
    found = [hit.item for hit in teacher.search(ITEM, vectors, 60)]
    log.record(Event(ITEM, (found[40],), (found[0],)))
    again, _, damaged = open_teacher(space, tmp_path / "feedback")
    after = [hit.item for hit in again.search(ITEM, vectors, 60)]
    assert damaged == ()
    assert after[0] == found[40]
    assert found[0] not in after[:40]


def test_a_copy_from_outside_is_searched_with_the_same_vectors(space: Workspace, tmp_path: Path) -> None:
    types = space.model("retrieval").needs.features
    (tmp_path / "mine.png").write_bytes((space.data / "raw/media" / ITEM).read_bytes())
    outside = query_vectors(space, Asked("mine.png", path=tmp_path / "mine.png"), types)
    inside = query_vectors(space, Asked(ITEM, item=ITEM), types)
    assert all(np.array_equal(one, other) for one, other in zip(outside, inside, strict=True))


def test_a_sound_can_not_be_searched_with_pictures_types(space: Workspace, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "beep.wav"), "wb") as sound:
        sound.setparams((1, 2, 16000, 0, "NONE", ""))
        sound.writeframes(np.zeros(16000, np.int16).tobytes())
    with pytest.raises(DataError, match="lab, hue"):
        query_vectors(space, Asked("beep.wav", path=tmp_path / "beep.wav"), ("lab", "hue"))


def test_the_page_shows_hits_ids_and_reasons(space: Workspace, tmp_path: Path) -> None:
    live = open_teacher(space, tmp_path / "feedback", method="uni_con")[0].live
    vectors = live.vectors(ITEM)
    hits = live.search(vectors, 3, leave_out=ITEM)
    reasons = {hits[0].item: live.explain(vectors, hits[0].item)}
    page = hits_page("<images/00.png>", None, hits, lambda item: None, reasons)
    assert all(hit.item in page for hit in hits)
    assert f"Why {hits[0].item}" in page
    assert "<images/00.png>" not in page, "what comes from outside is escaped"


def test_the_command_takes_items_and_files_and_a_method(project: Path) -> None:
    (project / "mine.png").write_bytes((project / "data/raw/media" / ITEM).read_bytes())
    inside = ask("search", f"data/raw/media/{ITEM}", "--count", "5", "--method", "uni_con")
    assert "By uni_con of retrieval" in inside
    assert ITEM not in inside, "the query itself is left out"
    assert ask("search", "sea_002.png", "--count", "5", "--method", "uni_con") == inside, "a bare name is enough"
    outside = ask("search", "mine.png", "--count", "5", "--explain")
    assert outside.splitlines()[0].endswith(ITEM)
    assert "Why" in outside
    assert (project / "search.html").read_text().count("data:image/jpeg") == 6


def test_feedback_by_command_changes_what_is_found(project: Path) -> None:
    before = ask("search", ITEM, "--count", "40")
    last = before.splitlines()[39].split()[-1]
    for _ in range(3):
        ask("feedback", ITEM, "--relevant", last, "--irrelevant", OTHER)
    assert ask("search", ITEM, "--count", "40") != before


def test_a_warning_of_the_model_is_shown(project: Path) -> None:
    path = project / "data/systems/retrieval/model.json"
    store.write_json(path, {**store.read_json(path), "warning": "the classes say nothing"})
    assert "the classes say nothing" in ask("search", ITEM)
