"""Every method of `annotation` has a name and an explanation in a user's words."""

from __future__ import annotations

from mediarank.systems.annotation.config import AVERAGE
from mediarank.systems.annotation.config import METHODS as CONFIGURED
from mediarank.systems.annotation.wording import METHODS


def test_every_method_is_put_into_words() -> None:
    assert set(METHODS) == {*CONFIGURED, AVERAGE}
    names = [METHODS[method].plain for method in METHODS]
    assert len(set(names)) == len(names), "two methods can't have one name"
