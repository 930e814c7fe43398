"""Review queues: suspected label errors, what to label next, and near-duplicates whose labels differ.

Each is a pure function over features and labels, and each entry says why it is there. `suspected_classes` and
`suspected_names` ask two witnesses that did not see an item's label, a regression on the other folds and the nearest
neighbours: a label that both find unlikely is suspicious. `next_to_label` picks items that are uncertain, unlike each
other and like many others. `differing_duplicates` compares the labels of items that look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mediarank.evaluation.calibration import best_cut
from mediarank.teaching.many_names import held_out_scores, neighbour_shares, probabilities_of
from mediarank.teaching.one_name import Rows, Space
from mediarank.types import Doubles, Floats

NEIGHBOURS: Final = 10
"""That an item is compared with, to see how typical it is."""
CANDIDATES: Final = 2000
"""Items that are compared with each other where no name is given."""
UNSEEN: Final = 0.02
"""The share that a label has if no neighbour has it, divided by the number of possible labels."""


@dataclass(frozen=True)
class Entry:
    """One line of a queue.

    labelled : what the label says now; suggested : what it should perhaps say
    weight : how suspicious or how useful, higher first
    reason : why it is here, in words
    """

    item: str
    name: str
    labelled: str
    suggested: str
    weight: float
    reason: str


def suspected_classes(space: Space, class_of: Mapping[str, str], seed: int, count: int = 100) -> list[Entry]:
    """Items whose class is probably wrong, the most suspicious first."""
    items = [item for item in space.ids if item in class_of]
    names = sorted({class_of[item] for item in items})
    if len(names) < 2:
        return []
    rows = space.rows(items)
    given = np.array([names.index(class_of[item]) for item in items], dtype=np.intp)
    p, near, suspicion = class_doubts(space, rows, given, len(names), seed)
    place = np.arange(len(items))
    both = p * (near + UNSEEN / len(names))
    both[place, given] = -1
    other = both.argmax(axis=1)
    order = np.argsort(-suspicion, kind="stable")[:count]
    return [
        Entry(
            items[k],
            names[given[k]],
            names[given[k]],
            names[other[k]],
            float(suspicion[k]),
            f"labelled {names[given[k]]}, which has a probability of {p[k, given[k]]:.2f} and a share of "
            f"{near[k, given[k]]:.2f} among its neighbours; {names[other[k]]} has {p[k, other[k]]:.2f} and "
            f"{near[k, other[k]]:.2f}",
        )
        for k in order.tolist()
        if both[k, other[k]] > p[k, given[k]] * (near[k, given[k]] + UNSEEN / len(names))
    ]


def class_doubts(
    space: Space, rows: Rows, given: npt.NDArray[np.intp], classes: int, seed: int
) -> tuple[Doubles, Doubles, Doubles]:
    """(rows, classes) probabilities and neighbours' shares, and (rows,) how suspicious each label is."""
    labels = np.eye(classes, dtype=bool)[given]
    p = probabilities_of(held_out_scores(space, rows, labels.astype(np.float32), seed), labels)
    p = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
    near = neighbour_shares(directions(space)[rows], labels)
    place = np.arange(len(rows))
    suspicion = -np.log(p[place, given] + 1e-9) - np.log(near[place, given] + UNSEEN / classes)
    return p, near, suspicion


def suspected_names(
    space: Space, shown: Mapping[str, set[str]], looked_at: Iterable[str], seed: int, count: int = 100, only: str = ""
) -> list[Entry]:
    """Items that probably show a name without its label, or have a label that they don't show.

    shown : name -> the items that are labelled with it; looked_at : the items that were labelled at all
    only : list this name alone; the others still help to judge it
    """
    rows = space.rows(set(looked_at))
    names = sorted(name for name, items in shown.items() if len(space.rows(items)) > 1)
    if not len(rows) or not names:
        return []
    items = [space.ids[k] for k in rows.tolist()]
    labels = np.array([[item in shown[name] for name in names] for item in items])
    p, near, suspicion = name_doubts(space, rows, labels, seed)
    if only:
        suspicion = np.where(np.array(names) == only, suspicion, -np.inf)
        count = min(count, len(items) if only in names else 0)
    entries = []
    for place in np.argsort(-suspicion, axis=None, kind="stable")[:count].tolist():
        k, j = divmod(place, len(names))
        says, instead = ("yes", "no") if labels[k, j] else ("no", "yes")
        reason = f"labelled {says}, but its probability is {p[k, j]:.2f} and {near[k, j]:.0%} of its neighbours show it"
        entries.append(Entry(items[k], names[j], says, instead, float(suspicion[k, j]), reason))
    return entries


def name_doubts(space: Space, rows: Rows, labels: npt.NDArray[np.bool_], seed: int) -> tuple[Doubles, Doubles, Doubles]:
    """(rows, names) probabilities, neighbours' shares, and how suspicious each label is."""
    p = probabilities_of(held_out_scores(space, rows, labels.astype(np.float32), seed), labels)
    near = neighbour_shares(directions(space)[rows], labels)
    own, share = np.where(labels, p, 1 - p), np.where(labels, near, 1 - near)
    return p, near, -np.log(own + 1e-9) - np.log(share + UNSEEN / 2)


def next_to_label(
    space: Space, scores: Doubles, probabilities: Doubles, labelled: Rows, count: int, name: str = ""
) -> list[Entry]:
    """Items to label next: the name is uncertain there, they differ from each other and stand for many others.

    scores, probabilities : (items,) of the name; labelled : rows that need no label any more
    """
    open_rows = np.setdiff1d(np.arange(len(space.ids)), labelled)
    if not len(open_rows):
        return []
    picked = pick_next(directions(space), scores, probabilities, open_rows, count)
    cut = best_cut(probabilities)
    entries = []
    for place, k in enumerate(picked.tolist()):
        rank = int((scores > scores[k]).sum()) + 1
        side = "above" if probabilities[k] >= cut.threshold else "below"
        reason = f"probability {probabilities[k]:.2f}, rank {rank}, {side} the line; unlike the others in this list"
        entries.append(Entry(space.ids[k], name, "", "", float(len(picked) - place), reason))
    return entries


def next_for_all(space: Space, labelled: Rows, count: int) -> list[Entry]:
    """Items to label next where no name is given: those that stand for most of what is not yet like a labelled one.

    Greedy: each pick covers the items that look like it; the next one covers most of what is left.
    """
    looks = directions(space)
    open_rows = np.setdiff1d(np.arange(len(space.ids)), labelled)
    step = max(1, len(open_rows) // CANDIDATES)
    sample = open_rows[::step]
    if not len(sample):
        return []
    alike = np.clip(looks[sample] @ looks[sample].T, 0, 1)
    known = looks[labelled[:: max(1, len(labelled) // CANDIDATES)]]
    covered = np.clip(looks[sample] @ known.T, 0, 1).max(axis=1) if len(known) else np.zeros(len(sample))
    entries = []
    for place in range(min(count, len(sample))):
        gains = np.maximum(alike - covered[:, None], 0).sum(axis=0)
        k = int(np.argmax(gains))
        stands = int((alike[:, k] > np.maximum(covered, 0.5)).sum()) * step
        covered = np.maximum(covered, alike[:, k])
        reason = f"stands for about {stands} items that look like it and like nothing that is labelled"
        entries.append(Entry(space.ids[sample[k]], "", "", "", float(count - place), reason))
    return entries


def pick_next(
    looks: Floats, scores: Doubles, probabilities: Doubles, open_rows: Rows, count: int
) -> npt.NDArray[np.intp]:
    """Rows in the order in which to label them.

    Usefulness is the entropy of the probability. Each pick takes usefulness from what looks like it.
    looks : (items, d) rows of length 1
    """
    p = np.clip(probabilities[open_rows], 1e-6, 1 - 1e-6)
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    # Ties, and probabilities that are all near 0, are decided by the score.
    order = np.argsort(np.argsort(scores[open_rows], kind="stable"), kind="stable") / max(len(open_rows), 1)
    useful = entropy * (0.05 + order**4)
    pool = np.argsort(-useful, kind="stable")[: max(20 * count, 200)]
    vectors, useful = looks[open_rows[pool]], useful[pool].copy()
    typical = np.clip(np.sort(vectors @ vectors.T, axis=1)[:, -1 - NEIGHBOURS : -1].mean(axis=1), 0, 1)
    useful *= 0.5 + typical
    picked: list[int] = []
    for _ in range(min(count, len(pool))):
        k = int(np.argmax(useful))
        picked.append(k)
        alike = np.clip(vectors @ vectors[k], 0, 1)
        useful *= 1 - alike**2
        useful[k] = -1
    return np.asarray(open_rows[pool[picked]], np.intp)


def directions(space: Space) -> Floats:
    """All feature types side by side, each row of length 1."""
    joined = np.hstack(list(space.parts.values())) if len(space.parts) > 1 else next(iter(space.parts.values()))
    length = np.linalg.norm(joined, axis=1, keepdims=True)
    return np.asarray(joined / np.where(length > 1e-9, length, 1), np.float32)


def differing_duplicates(groups: Mapping[str, str], shown: Mapping[str, set[str]], looked_at: set[str]) -> list[Entry]:
    """Items that look the same but are labelled differently; one entry per item that lacks a label of its twin.

    groups : item -> the group of items that look the same
    """
    members: dict[str, list[str]] = {}
    for item, group in sorted(groups.items()):
        if item in looked_at:
            members.setdefault(group, []).append(item)
    entries = []
    for twins in members.values():
        if len(twins) < 2:
            continue
        for name, items in sorted(shown.items()):
            having = [item for item in twins if item in items]
            if having and len(having) < len(twins):
                share = len(having) / len(twins)
                entries += [
                    Entry(
                        item,
                        name,
                        "no",
                        "yes",
                        share,
                        f"looks the same as {having[0]}, which is labelled with {name}; this one is not",
                    )
                    for item in twins
                    if item not in items
                ]
    return sorted(entries, key=lambda entry: (-entry.weight, entry.item, entry.name))
