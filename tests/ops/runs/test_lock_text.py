"""Entries of dvc.lock as text, against DVC's own parser and writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.ops.runs.lock_text import entries, joined, with_entry

NAMES = ("collect", "features@hog", "features-lbp", "a b", "'quoted'", "yes", "1.5", "naïve: no")
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=120), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=12), inner, max_size=3)),
    max_leaves=8,
)


def by_dvc(path: Path, text: str, name: str, content: Any) -> str:
    """What DVC's `Lockfile.dump_stages` leaves."""
    from dvc.utils.serialize import modify_yaml

    path.write_text(text)
    with modify_yaml(str(path)) as data:
        data["stages"].update({name: content})
    return path.read_text()


def written(stages: dict[str, Any]) -> str:
    from dvc.utils.serialize import dumps_yaml

    return dumps_yaml({"schema": "2.0", "stages": stages})


def entry(value: Any) -> dict[str, Any]:
    return {
        "cmd": "python work.py " + "word " * 40,
        "params": {"params.yaml": {"value": value}},
        "outs": [{"path": "x"}],
    }


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True), VALUES, st.data())
def test_an_entry_is_replaced_as_dvc_does_it_or_left_to_dvc(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], value: Any, data: st.DataObject
) -> None:
    text = written({name: entry(k) for k, name in enumerate(names)})
    name = data.draw(st.sampled_from(NAMES))
    found = with_entry(text, name, entry(value))
    if found is not None:
        assert found == by_dvc(tmp_path_factory.mktemp("lock") / "dvc.lock", text, name, entry(value))


def test_the_usual_names_need_no_help() -> None:
    text = written({name: entry(0) for name in ("collect", "features@hog")})
    for name in ("collect", "features@hog", "features-lbp"):
        assert with_entry(text, name, entry(0.05)) is not None
    assert with_entry("", "collect", entry(1)) == written({"collect": entry(1)})


def test_entries_and_order() -> None:
    text = written({name: entry(k) for k, name in enumerate("abc")})
    blocks = entries(text)
    assert blocks is not None
    assert list(blocks) == ["a", "b", "c"]
    assert joined(blocks, ["a", "b", "c"]) == text
    assert joined(blocks, ["c", "a", "b"]) == written({"c": entry(2), "a": entry(0), "b": entry(1)})


@pytest.mark.parametrize(
    "text",
    ["schema: '1.0'\n", "# mine\nschema: '2.0'\nstages:\n", "schema: '2.0'\nstages:\n  a:\n    cmd: x\ndatasets: []\n"],
)
def test_what_is_not_as_dvc_writes_it_is_left_to_dvc(text: str) -> None:
    assert entries(text) is None
    assert with_entry(text, "a", entry(1)) is None
