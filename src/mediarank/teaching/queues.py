"""The review lists, for the command line and the explorer: one of `QUEUES`, made from the labels of now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mediarank.asking.workspace import Workspace
from mediarank.labels import Labels
from mediarank.similarity.near_duplicates import near_duplicate_groups
from mediarank.teaching.learning import SEED, kind_of, one_thread, open_space, said_of, teach_now
from mediarank.teaching.merging import Merged
from mediarank.teaching.one_name import Space
from mediarank.teaching.review import (
    Entry,
    differing_duplicates,
    next_for_all,
    next_to_label,
    suspected_classes,
    suspected_names,
)
from mediarank.types import DataError

QUEUES: Final = {"next": "What to label next", "errors": "Labels that may be wrong", "duplicates": "Twins that differ"}
"""Kind of list -> its title."""
TWINS: Final = 3
"""Items that are named as looking the same."""


@dataclass(frozen=True)
class ReviewList:
    """What to look at, most useful first.

    class_entries : places of the entries that are about the class of an item
    twins : item -> others that look the same, for the list of duplicates
    """

    entries: Sequence[Entry]
    class_entries: frozenset[int] = frozenset()
    twins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def review_list(
    workspace: Workspace,
    now: Merged,
    kind: str,
    name: str,
    count: int,
    space_of: Callable[[Workspace, str], Space] = open_space,
) -> ReviewList:
    """Make a list of at most `count` entries.

    now : the labels of this moment
    kind : a key of QUEUES; name : empty for all names
    space_of : opens the features; a process that stays warm passes one that remembers
    """
    if kind == "next":
        return ReviewList(_next(workspace, now, name, count, space_of))
    if kind == "duplicates":
        return _duplicates(workspace, now.labels, name, count)
    if kind == "errors":
        return _errors(space_of(workspace, "image"), now.labels, name, count)
    raise DataError(f"There is no list {kind!r}; choose one of: {', '.join(QUEUES)}.")


def _next(
    workspace: Workspace, now: Merged, name: str, count: int, space_of: Callable[[Workspace, str], Space]
) -> list[Entry]:
    if not name:
        space = space_of(workspace, "image")
        return next_for_all(space, space.rows(now.labels.looked_at), count)
    kind = kind_of(name, now.labels)
    if kind == "pair":
        raise DataError(
            f"{name!r} is an attribute. What to label next is listed for a concept, keyword, class or event; "
            "an attribute is taught by pairs, on the explorer's page Attributes or with `mediarank label add --more`."
        )
    space, taught = teach_now(workspace, now, name, space_of=space_of)
    yes, no = said_of(space, name, kind, now.labels)
    return next_to_label(space, taught.learned.scores, taught.probabilities, np.union1d(yes, no), count, name)


def _errors(space: Space, labels: Labels, name: str, count: int) -> ReviewList:
    with one_thread():
        named = suspected_names(space, _shown(labels), labels.looked_at, SEED, count, name)
        classes = [] if name else suspected_classes(space, labels.class_of, SEED, count)
    both = sorted([(e, False) for e in named] + [(e, True) for e in classes], key=lambda pair: -pair[0].weight)[:count]
    return ReviewList([e for e, _ in both], frozenset(k for k, (_, of_class) in enumerate(both) if of_class))


def _duplicates(workspace: Workspace, labels: Labels, name: str, count: int) -> ReviewList:
    looks = workspace.frames.drop_duplicates("item_id")
    numbers = near_duplicate_groups(looks["phash"].tolist())
    groups = {item: str(n) for item, n in zip(looks["item_id"].tolist(), numbers.tolist(), strict=True)}
    together: dict[str, list[str]] = {}
    for item, group in groups.items():
        together.setdefault(group, []).append(item)
    found = [e for e in differing_duplicates(groups, _shown(labels), labels.looked_at) if name in ("", e.name)][:count]
    twins = {e.item: tuple(i for i in together[groups[e.item]] if i != e.item)[:TWINS] for e in found}
    return ReviewList(found, twins=twins)


def _shown(labels: Labels) -> dict[str, set[str]]:
    shown: dict[str, set[str]] = {}
    for concept, item in labels.shown:
        shown.setdefault(concept, set()).add(item)
    return shown
