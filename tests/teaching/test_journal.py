"""The journal on disk: nothing is lost, nothing is doubled, and damage stays where it is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from journal_drill import drill
from made_statements import said

from mediarank.teaching import journal as module
from mediarank.teaching.journal import Journal, current_author, file_name, statements_of_call
from mediarank.teaching.statements import Statement, encode
from mediarank.teaching.undoing import undo_statements
from mediarank.types import ConfigError, DataError

ATTRIBUTES = Path(__file__).parents[2] / ".gitattributes"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "labels/journal")


def ids(journal: Journal) -> list[str]:
    return [statement.id for statement in journal.read().statements]


def test_what_is_appended_is_read(journal: Journal) -> None:
    assert journal.read().statements == ()
    first = journal.append([said(1, "a.jpg", "boat", True), said(2, "b.jpg", "boat", False)])
    second = journal.append([said(3, "c.jpg", "boat", True)])
    assert list(journal.read().statements) == [*first, *second]
    assert journal.read().damaged == ()
    assert len(journal.files()) == 1


def test_each_author_has_a_file(journal: Journal) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    journal.append([said(2, "a.jpg", "boat", False, author="bob")])
    assert len(journal.files()) == 2
    assert len(ids(journal)) == 2
    with pytest.raises(DataError, match="one author"):
        journal.append([said(3, "a.jpg", "boat", True), said(4, "a.jpg", "boat", True, author="bob")])


def test_file_names_are_safe_and_differ() -> None:
    names = [file_name(author) for author in ("Ada L.", "ada l", "../../etc/passwd", "Ł", "ł", "x" * 500)]
    assert len(set(names)) == len(names)
    assert all("/" not in name and len(name) < 60 for name in names)


def test_times_rise_within_a_file(journal: Journal) -> None:
    journal.append([said(30, "a.jpg", "boat", True)])
    (written,) = journal.append([said(5, "a.jpg", "boat", False)])
    assert written.time > said(30, "a.jpg", "boat", True).time
    assert journal.read().statements[-1].value is False


@pytest.mark.parametrize("kept", [1, 8, 9, 30, -1])
def test_after_half_a_line_the_next_one_begins_fresh(journal: Journal, kept: int) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    (path,) = journal.files()
    with path.open("ab") as file:
        file.write(encode(said(2, "b.jpg", "boat", True)).rstrip(b"\n")[:kept])
    journal.append([said(3, "c.jpg", "boat", True)])
    assert ids(journal) == ["0001.0", "0003.0"]
    (damaged,) = journal.read().damaged
    assert "line 2" in damaged.place


def test_a_whole_line_without_its_end_counts(journal: Journal) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    (path,) = journal.files()
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    journal.append([said(2, "b.jpg", "boat", True)])
    assert ids(journal) == ["0001.0", "0002.0"]
    assert journal.read().damaged == ()


def test_a_damaged_line_touches_no_other(journal: Journal) -> None:
    journal.append([said(k, f"{k}.jpg", "boat", True) for k in range(5)])
    (path,) = journal.files()
    path.write_bytes(path.read_bytes().replace(b"2.jpg", b"9.jpg", 1))
    assert ids(journal) == ["0000.0", "0001.0", "0003.0", "0004.0"]
    assert "line 3" in journal.read().damaged[0].place


def test_a_conflict_that_git_wrote_into_the_file_loses_nothing(journal: Journal) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    (path,) = journal.files()
    ours, theirs = (encode(said(k, "b.jpg", "boat", True)) for k in (2, 3))
    path.write_bytes(path.read_bytes() + b"<<<<<<< ours\n" + ours + b"=======\r\n" + theirs + b">>>>>>> theirs\n")
    assert ids(journal) == ["0001.0", "0002.0", "0003.0"]
    assert len(journal.read().damaged) == 3


def test_what_a_full_disk_cut_off_is_taken_away(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    (path,) = journal.files()
    before, write, calls = path.read_bytes(), os.write, []

    def full(file: int, content: bytes) -> int:
        calls.append(len(content))
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(file, content[:10])

    monkeypatch.setattr(module.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        journal.append([said(2, "b.jpg", "boat", True)])
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_file_that_git_replaces_meanwhile_is_written_again(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.append([said(1, "a.jpg", "boat", True)])
    (path,) = journal.files()
    fsync, replaced = os.fsync, []

    def swap(file: int) -> None:
        fsync(file)
        if not replaced:
            replaced.append(True)
            fresh = path.with_suffix(".new")
            fresh.write_bytes(encode(said(1, "a.jpg", "boat", True)))
            fresh.replace(path)

    monkeypatch.setattr(module.os, "fsync", swap)
    journal.append([said(2, "b.jpg", "boat", True)])
    monkeypatch.undo()
    assert ids(journal) == ["0001.0", "0002.0"]


def test_undo(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    rows = [{"kind": "concept", "item": f"{k}.jpg", "sha256": "", "name": "boat", "value": True} for k in range(3)]
    call = journal.append(statements_of_call("ada", "cli", rows))
    assert [s.id for s in undo_statements(journal.folder, call[1].id, "cli")] == [call[1].id]
    assert {s.id for s in undo_statements(journal.folder, None, "cli")} == {call[0].id, call[2].id}
    for target in (call[0].id, None, "nothing"):
        with pytest.raises(DataError):
            undo_statements(journal.folder, target, "cli")
    assert len(journal.read().statements) == 6, "an undo adds lines and removes none"


def test_authors_come_from_the_environment_or_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.delenv("MEDIARANK_AUTHOR", raising=False)
    with pytest.raises(ConfigError, match="MEDIARANK_AUTHOR"):
        current_author(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "Ada  Byron")
    assert current_author(tmp_path) == "Ada Byron"
    monkeypatch.setenv("MEDIARANK_AUTHOR", "bob")
    assert current_author(tmp_path) == "bob"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_two_branches_merge_as_text(tmp_path: Path) -> None:
    """Both wrote to the same author's file and to their own; one line was picked over to the other side before."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "ada")
    git(tmp_path, "config", "user.email", "ada@example.org")
    (tmp_path / ".gitattributes").write_text(ATTRIBUTES.read_text())
    journal = Journal(tmp_path / "labels/journal")

    def commit(*statements: Statement) -> None:
        for statement in statements:
            journal.append([statement])
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "more")

    commit(*(said(k, f"{k}.jpg", "boat", True) for k in range(3)))
    git(tmp_path, "checkout", "-q", "-b", "theirs")
    commit(said(10, "10.jpg", "boat", True), said(11, "11.jpg", "boat", True))
    git(tmp_path, "checkout", "-q", "main")
    commit(said(10, "10.jpg", "boat", True), said(20, "20.jpg", "boat", True), said(21, "x", "y", True, author="bob"))
    git(tmp_path, "merge", "-q", "--no-edit", "theirs")
    read = journal.read()
    assert [s.id for s in read.statements] == [f"{k:04x}.0" for k in (0, 1, 2, 10, 11, 20, 21)]
    assert read.damaged == ()


def test_eight_writers_and_random_kills(tmp_path: Path) -> None:
    result = drill(tmp_path, writers=8, statements=25, kills=12, seed=1)
    assert result.lost == result.doubled == 0, result
    assert result.killed > 0


@pytest.mark.slow
def test_eight_writers_random_kills_and_ten_thousand_statements(tmp_path: Path) -> None:
    result = drill(tmp_path, writers=8, statements=1250, kills=60, seed=2)
    assert result.lost == result.doubled == 0, result
    assert result.killed > 0
    assert result.held == 10_000


def test_the_drill_can_fail(tmp_path: Path) -> None:
    """Writers that acknowledge every tenth statement without writing it are caught."""
    result = drill(tmp_path, writers=2, statements=20, kills=0, seed=3, careless=True)
    assert result.lost == 4
