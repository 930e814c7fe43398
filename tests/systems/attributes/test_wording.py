"""Every method of `attributes` has a name and an explanation in a user's words."""

from __future__ import annotations

from mediarank.systems.attributes.config import METHODS as CONFIGURED
from mediarank.systems.attributes.wording import METHODS


def test_every_method_is_put_into_words() -> None:
    assert all(method in METHODS for method in CONFIGURED if method != "each_kernel")
    names = [METHODS[method].plain for method in METHODS]
    assert len(set(names)) == len(names), "two methods can't have one name"
