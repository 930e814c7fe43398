"""Item ids: what may be one, and how a file's name becomes one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediarank.collections.listing import Listing, escaped, require_safe
from mediarank.labels import Labels
from mediarank.types import DataError


@pytest.mark.parametrize("item", ["../a.jpg", "/a.jpg", "a/../../b.jpg", "", "a\\b.jpg", "a\nb.jpg", "caf\udce9.jpg"])
def test_ids_that_are_refused(item: str) -> None:
    with pytest.raises(DataError, match="can't be an item id"):
        Listing({item: Path("x")}, Labels({}))


@pytest.mark.parametrize("item", ["a.jpg", "a b/ü.jpg", "100%/..a.jpg", "a:b.jpg/c:d.jpg"[2:], "日本/写真.jpg"])
def test_ids_that_are_left_as_they_are(item: str) -> None:
    require_safe(item)
    assert escaped(item) == item


def test_bytes_that_are_no_utf8_are_reported_as_bytes() -> None:
    assert escaped("caf\udce9.jpg") == "caf%E9.jpg"
    assert escaped("tab\there\\too.jpg") == "tab%09here%5Ctoo.jpg"
    assert escaped("C:/a.jpg") == "C%3A/a.jpg"
    assert escaped("\ud83d.jpg") == "%ED%A0%BD.jpg"


@given(st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=20))
def test_an_escaped_name_is_stable_and_fits_a_table(name: str) -> None:
    once = escaped(name)
    assert escaped(once) == once
    assert pd.Series([once]).tolist() == [once]
