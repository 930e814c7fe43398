"""Text files as people save them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mediarank.collections.tables import flag, make_labels, number, read_csv, read_lines, read_text, role
from mediarank.types import DataError


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("café\r\n\r\n  straße \n".encode(encoding))
    assert read_lines(path) == ["café", "straße"]


def test_bytes_that_no_code_page_knows_are_still_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\x81b")
    assert read_text(tmp_path / "a.txt") == "a\x81b"


def test_a_missing_file_says_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"labels.csv is missing; see docs/collections.md"):
        read_text(tmp_path / "labels.csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_quotes_and_short_rows(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'Path{separator}Label\n"a{separator}b"{separator} sea \n\nc{separator}\nd\n')
    table = read_csv(path)
    assert table.columns == ("path", "label")
    assert table.rows == ((f"a{separator}b", "sea"), ("c", ""), ("d", ""))
    assert table.lines == (2, 4, 5)


def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,strength\na,1\n\nb,much\n")
    table = read_csv(path)
    with pytest.raises(DataError, match=r"a.csv, line 4: strength must be a number, not 'much'"):
        table.converted("strength", number)
    with pytest.raises(DataError, match="lacks a column class or label; its first line is item,strength"):
        table.column("class", "label")
    path.write_text("item,class\na,sea,blue\n")
    with pytest.raises(DataError, match="line 2: 3 values, but the first line names 2 columns"):
        read_csv(path)
    path.write_text("\n \n")
    with pytest.raises(DataError, match="is empty"):
        read_csv(path)


def test_values() -> None:
    assert [flag(t) for t in ("1", "TRUE", "P", "0", "no", "-1")] == [True, True, True, False, False, False]
    assert [role(t) for t in ("train", "Test", "val", "rank", "")] == ["base", "test", "valid", "rank", ""]
    for convert, text in ((flag, "maybe"), (number, "nan"), (number, ""), (role, "other")):
        with pytest.raises(ValueError):
            convert(text)


def test_labels_from_rows() -> None:
    labels = make_labels(classes=[("a", "half a \ud83d")], splits=[("a", "base"), ("b", "", "2")], keywords=[])
    assert labels.class_of == {"a": "half a ?"}
    assert labels["splits"].to_numpy().tolist() == [["a", "base", ""], ["b", "", "2"]]
    assert labels["keywords"].empty
