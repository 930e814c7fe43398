"""What differs between two versions; a correction by a person is a difference of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mediarank.ops.versions.changes import data_changes

CONTENTS = {
    "said": b"item,concept,relevant\na.jpg,boat,True\nb.jpg,boat,False\n",
    "corrected": b"item,concept,relevant\na.jpg,boat,False\nb.jpg,boat,False\n",
}


@dataclass(frozen=True)
class FewOuts:
    """A lock that knows one hash per folder."""

    folders: dict[str, str]

    def outs(self, path: str) -> dict[str, str]:
        return {path: self.folders[path]} if path in self.folders else {}


class Kept:
    """Folders with one table each, which is named by the folder's hash."""

    def listing(self, oid: str) -> dict[str, str]:
        return {"concepts.csv": oid} if oid in CONTENTS else {}

    def read(self, oid: str) -> bytes:
        return CONTENTS[oid]


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    locks: Any = FewOuts(before), FewOuts(after)
    objects: Any = Kept()
    return data_changes(*locks, objects).summary()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("said", "said", "unchanged"),
        ("said", "corrected", "concepts +1 -1"),
    ],
)
def test_a_correction_is_a_difference_though_the_source_is_the_same(before: str, after: str, words: str) -> None:
    one, other = ({"data/raw/labels": "said", "data/manifest/labels": which} for which in (before, after))
    assert changes(one, other) == words


def test_versions_without_a_journal_are_compared_by_the_source() -> None:
    assert changes({"data/raw/labels": "said"}, {"data/raw/labels": "corrected"}) == "concepts +1 -1"
    new = {"data/raw/labels": "said", "data/manifest/labels": "corrected"}
    assert changes({"data/raw/labels": "said"}, new) == "unchanged", "only one of the two has them"
