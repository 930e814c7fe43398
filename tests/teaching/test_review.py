"""Review queues on data with a known answer: planted errors, planted duplicates, clusters to label."""

from __future__ import annotations

import numpy as np
import pytest
from test_one_name import matrix

from mediarank.teaching.many_names import neighbour_shares
from mediarank.teaching.one_name import Space
from mediarank.teaching.review import (
    differing_duplicates,
    directions,
    next_for_all,
    next_to_label,
    pick_next,
    suspected_classes,
    suspected_names,
)

CLASSES = 6


def clusters(per_class: int = 40, seed: int = 0) -> tuple[Space, dict[str, str]]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CLASSES, 20)) * 1.5
    values = np.repeat(centres, per_class, axis=0) + rng.normal(size=(CLASSES * per_class, 20))
    space = Space.of({"a": matrix(values)})
    return space, {item: f"class{k // per_class}" for k, item in enumerate(space.ids)}


def test_planted_wrong_classes_come_first() -> None:
    space, truth = clusters()
    rng = np.random.default_rng(1)
    wrong = set(rng.choice(space.ids, 12, replace=False).tolist())
    given = {
        i: f"class{(int(c[5:]) + 1 + int(rng.integers(CLASSES - 1))) % CLASSES}" if i in wrong else c
        for i, c in truth.items()
    }
    queue = suspected_classes(space, given, seed=0)
    assert {entry.item for entry in queue[:12]} == wrong
    assert all(entry.suggested == truth[entry.item] for entry in queue[:12])
    assert given[queue[0].item] in queue[0].reason
    assert [e.weight for e in queue] == sorted((e.weight for e in queue), reverse=True)


def test_clean_labels_make_a_short_queue() -> None:
    space, truth = clusters()
    assert len(suspected_classes(space, truth, seed=0)) <= 5
    assert suspected_classes(space, dict.fromkeys(space.ids, "one"), seed=0) == []


def test_planted_wrong_and_missing_names_come_first() -> None:
    space, truth = clusters()
    shown = {name: {i for i, c in truth.items() if c == name} for name in ("class0", "class1")}
    missing, extra = sorted(shown["class0"])[3], sorted(shown["class1"])[5]
    shown["class0"] = (shown["class0"] - {missing}) | {extra}
    queue = suspected_names(space, shown, space.ids, seed=0, count=2)
    assert {(entry.item, entry.name, entry.suggested) for entry in queue} == {
        (missing, "class0", "yes"),
        (extra, "class0", "no"),
    }
    assert suspected_names(space, {}, space.ids, seed=0) == []
    only = suspected_names(space, shown, space.ids, seed=0, count=5, only="class1")
    assert {entry.name for entry in only} == {"class1"}
    assert only[0] == next(e for e in suspected_names(space, shown, space.ids, 0, 1000) if e.name == "class1")
    assert suspected_names(space, shown, space.ids, seed=0, only="class9") == []


def test_neighbours_are_others() -> None:
    looks = np.eye(4, dtype=np.float32)[[0, 0, 0, 1, 1]]
    labels = np.array([[1], [1], [0], [0], [1]])
    shares = neighbour_shares(looks, labels, count=1)[:, 0]
    assert shares[3] == 1
    assert shares[4] == 0, "its own label does not count"
    oracle = neighbour_shares(looks, labels, count=2)[:3, 0]
    assert oracle == pytest.approx([0.5, 0.5, 1.0])
    assert neighbour_shares(looks[:1], labels[:1]).tolist() == [[0]]


def test_what_is_uncertain_and_different_is_asked_first() -> None:
    rng = np.random.default_rng(2)
    looks = rng.normal(size=(100, 8)).astype(np.float32)
    looks[1] = looks[0]  # a twin of the most useful one
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    p = np.full(100, 0.01)
    p[[0, 1, 2, 3]] = [0.5, 0.49, 0.45, 0.4]
    picked = pick_next(looks, p, p, np.arange(100), 3).tolist()
    assert picked[0] == 0
    assert 1 not in picked, "its twin is asked instead of it"
    assert set(picked) == {0, 2, 3}
    assert 0 not in pick_next(looks, p, p, np.arange(1, 100), 3).tolist()


def test_queues_say_why_and_leave_out_what_is_labelled() -> None:
    space, _ = clusters(10)
    scores = np.linspace(0, 1, len(space.ids))
    queue = next_to_label(space, scores, scores, np.arange(30), 5, "boat")
    assert len(queue) == 5
    assert all(entry.reason and entry.name == "boat" for entry in queue)
    assert not {entry.item for entry in queue} & set(space.ids[:30])
    assert next_to_label(space, scores, scores, np.arange(len(space.ids)), 5) == []


def test_the_whole_collection_is_covered_cluster_by_cluster() -> None:
    space, truth = clusters()
    queue = next_for_all(space, np.array([], dtype=np.intp), CLASSES)
    assert {truth[entry.item] for entry in queue} == {f"class{k}" for k in range(CLASSES)}
    labelled = np.arange(40)  # class0 is known
    assert "class0" not in {truth[entry.item] for entry in next_for_all(space, labelled, CLASSES - 1)}
    assert np.linalg.norm(directions(space), axis=1) == pytest.approx(1)


def test_duplicates_with_other_labels() -> None:
    groups = {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d", "f": "f"}
    shown = {"boat": {"a", "b"}, "sea": {"a", "b", "c"}, "car": {"d"}, "sky": {"f"}}
    queue = differing_duplicates(groups, shown, {"a", "b", "c", "d", "e", "f"})
    assert [(entry.item, entry.name) for entry in queue] == [("c", "boat"), ("e", "car")]
    assert "looks the same as a" in queue[0].reason
    assert differing_duplicates(groups, shown, {"a", "b", "d"}) == [], "an item without labels differs from nothing"
