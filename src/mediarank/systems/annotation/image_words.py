"""The true words of images, from the labels."""

from __future__ import annotations

from collections.abc import Sequence

from mediarank.labels import Labels


def words_of(labels: Labels, items: Sequence[str]) -> dict[str, set[str]]:
    """item -> its true words; an empty set where it has none."""
    found: dict[str, set[str]] = {item: set() for item in items}
    for item, word in zip(labels["keywords"]["item"], labels["keywords"]["keyword"], strict=True):
        if item in found:
            found[item].add(word)
    return found
