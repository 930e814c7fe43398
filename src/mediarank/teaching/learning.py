"""`learn`: one name, fitted now from the effective labels and the kept features, beside the versioned model.

`open_space` prepares the features of a workspace, `teach` fits a name before and after what was said since the last
pipeline run, `Trials` keeps the result. A trial belongs to the labels and features that the pipeline wrote; after the
next run it is out of date and is dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from threadpoolctl import threadpool_limits

from mediarank import store
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.calibration import Calibration, fit_calibration
from mediarank.labels import Labels
from mediarank.teaching.labelling import Vocabulary
from mediarank.teaching.merging import Merged
from mediarank.teaching.one_name import STRENGTHS, Learned, Rows, Space, deal_name_folds, learn_name, learn_order
from mediarank.types import DataError, Doubles, FeatureMatrix

NETWORK: Final = "network"
SEED: Final = 7
SHOWN: Final = 20


def open_space(workspace: Workspace, kind: str = "image") -> Space:
    """The collection as the learner sees it: the network's features where they exist, otherwise all item-level types.

    kind : of the items; clips are also described by motion and sound
    """
    table = workspace.manifest.usable
    items = set(table["item_id"]) if kind == "image" else set(table.loc[table["kind"] != "image", "item_id"])
    found: dict[str, FeatureMatrix] = {}
    for name in workspace.matrices:
        matrix = workspace.matrices[name]
        rows = [item for item in matrix.ids.tolist() if item in items]
        if len(rows) >= max(2, len(items) // 3):
            found[name] = matrix if len(rows) == len(matrix) else _rows(matrix, rows)
    if kind == "image" and NETWORK in found:
        found = {NETWORK: found[NETWORK]}
    return Space.of(found, dict(zip(table["item_id"], table["group_id"], strict=True)))


def _rows(matrix: FeatureMatrix, items: Sequence[str]) -> FeatureMatrix:
    return FeatureMatrix(np.array(items), matrix.names, matrix.rows(items))


@dataclass(frozen=True, eq=False)
class Taught:
    """What one name is like, before and after.

    kind : concept, keyword, class, event or pair
    learned : from all that is said now; ap_before : by the labels of the last pipeline run, over the same truth
    first, first_before : the best items; `first_before` is empty for a new name
    probabilities : (items,) calibrated on the held-out scores
    """

    name: str
    kind: str
    ids: tuple[str, ...]
    learned: Learned
    ap_before: float
    first: tuple[str, ...]
    first_before: tuple[str, ...]
    probabilities: Doubles
    calibration: Calibration | None

    @property
    def changed(self) -> int:
        """How many of the first items are new among them."""
        return len(set(self.first) - set(self.first_before)) if self.first_before else len(self.first)


def teach_now(
    workspace: Workspace,
    now: Merged,
    name: str,
    count: int = SHOWN,
    space_of: Callable[[Workspace, str], Space] = open_space,
) -> tuple[Space, Taught]:
    """Fit a name on the features of its kind of items. space_of : opens the features, or remembers them"""
    space = space_of(workspace, "clip" if kind_of(name, now.labels) == "event" else "image")
    return space, teach(space, name, workspace.labels, now, count=count)


def teach(space: Space, name: str, before: Labels, now: Merged, seed: int = SEED, count: int = SHOWN) -> Taught:
    """Fit a name by the labels of now, and by those of the last pipeline run for comparison."""
    kind = kind_of(name, now.labels)
    if kind == "pair":
        return _teach_order(space, name, before, now.labels, seed, count)
    yes, no = said_of(space, name, kind, now.labels)
    if not len(yes):
        raise DataError(
            f"No item is said to show {name!r}. Say so with `mediarank label add --name {name} --yes ITEM`."
        )
    folds = deal_name_folds(space.groups, yes, seed)
    with one_thread():
        learned = learn_name(space, yes, no, seed, STRENGTHS, folds)
        was_yes, was_no = said_of(space, name, kind, before)
        previous = None
        if len(was_yes):
            previous = learn_name(space, was_yes, was_no, seed, (learned.strength,), folds, truth=yes)
    relevant = np.zeros(len(space.ids))
    relevant[yes] = 1
    calibration = fit_calibration(_plain(learned.out_of_fold)[:, None], relevant[:, None], [name])
    return Taught(
        name,
        kind,
        space.ids,
        learned,
        float("nan") if previous is None else previous.ap,
        _first(space, learned.scores, count),
        () if previous is None else _first(space, previous.scores, count),
        calibration.probabilities(_plain(learned.scores)[:, None])[:, 0],
        calibration,
    )


def _teach_order(space: Space, name: str, before: Labels, now: Labels, seed: int, count: int) -> Taught:
    with one_thread():
        learned = learn_order(space, *ordered_rows(space, name, now, seed), seed)
        was = ordered_rows(space, name, before, seed)
        previous = learn_order(space, *was, seed, (learned.strength,)) if len(was[0]) else None
    return Taught(
        name,
        "pair",
        space.ids,
        learned,
        float("nan") if previous is None else previous.ap,
        _first(space, learned.scores, count),
        () if previous is None else _first(space, previous.scores, count),
        np.full(len(space.ids), np.nan),
        None,
    )


def kind_of(name: str, labels: Labels) -> str:
    """The kind that a known name has; DataError with a hint otherwise."""
    known = Vocabulary.of(labels)
    if name not in known.known:
        from mediarank.asking.items import did_you_mean

        hint = did_you_mean(name, known.known)
        raise DataError(
            f"No label says anything of {name!r}.{hint} Begin with `mediarank label add --name {name} --yes …`."
        )
    return known.kind(name)


def said_of(space: Space, name: str, kind: str, labels: Labels) -> tuple[Rows, Rows]:
    """Rows that are said to show a name, and rows that are said not to."""
    if kind == "keyword":
        table = labels["keywords"]
        return space.rows(set(table.loc[table["keyword"] == name, "item"])), np.array([], np.intp)
    if kind == "class":
        table = labels["classes"]
        return (
            space.rows(set(table.loc[table["class"] == name, "item"])),
            space.rows(set(table.loc[table["class"] != name, "item"])),
        )
    column, item = ("event", "clip") if kind == "event" else ("concept", "item")
    table = labels["events" if kind == "event" else "concepts"]
    own = table[table[column] == name]
    relevant = own["relevant"].astype(bool)
    return space.rows(set(own.loc[relevant, item])), space.rows(set(own.loc[~relevant, item]))


def ordered_rows(space: Space, name: str, labels: Labels, seed: int, most: int = 4000) -> tuple[Rows, Rows]:
    """Rows with more and rows with less of an attribute, by pairs and by the strengths of classes or items."""
    pairs = labels["pairs"]
    own = pairs[(pairs["attribute"] == name) & (pairs["relation"] == ">")]
    couples = [
        (a, b) for a, b in zip(own["first"], own["second"], strict=True) if a in space.place and b in space.place
    ]
    table = labels["orderings"]
    strength = {
        str(t): float(s) for t, s in table.loc[table["attribute"] == name, ["target", "strength"]].to_numpy().tolist()
    }
    class_of = labels.class_of
    valued = [(item, strength.get(item, strength.get(class_of.get(item, "")))) for item in space.ids]
    known = [(item, value) for item, value in valued if value is not None]
    if known:
        drawn = np.random.default_rng(seed).integers(len(known), size=(2 * most, 2)).tolist()
        for a, b in drawn:
            (one, high), (other, low) = known[a], known[b]
            if high > low:
                couples.append((one, other))
    kept = couples[: max(most, len(own))]
    return tuple(np.array([space.place[pair[k]] for pair in kept], np.intp) for k in (0, 1))  # type: ignore[return-value]


def one_thread() -> Any:
    """One thread for matrix products: results don't depend on the machine, and nothing waits for busy cores."""
    return threadpool_limits(1)


def _plain(scores: Doubles) -> Doubles:
    return np.asarray((scores - scores.mean()) / max(float(scores.std()), 1e-9))


def _first(space: Space, scores: Doubles, count: int) -> tuple[str, ...]:
    return tuple(space.ids[k] for k in np.argsort(-scores, kind="stable")[:count].tolist())


@dataclass(frozen=True)
class Trials:
    """Names that were learned beside the versioned model. folder : such as `.mediarank/trials`"""

    folder: Path

    def keep(self, taught: Taught, version: str) -> Path:
        """Write a trial. version : of the data it was learned on; see `version_of`"""
        path = self._path(taught.kind, taught.name)
        arrays = {
            "ids": np.array(taught.ids, dtype=str),
            "scores": taught.learned.scores,
            "probabilities": taught.probabilities,
            **{f"weights.{name}": w for name, w in taught.learned.weights.items()},
        }
        facts = {
            "name": taught.name,
            "kind": taught.kind,
            "version": version,
            "positives": taught.learned.positives,
            "negatives": taught.learned.negatives,
            "strength": taught.learned.strength,
            "ap": _number(taught.learned.ap),
            "ap_before": _number(taught.ap_before),
        }
        store.write_arrays(path.with_suffix(".npz"), arrays)
        store.write_json(path.with_suffix(".json"), facts)
        return path.with_suffix(".json")

    def facts(self, version: str) -> list[Mapping[str, Any]]:
        """The trials that belong to this version of the data; others are removed."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                facts = store.read_json(path)
            except DataError:
                facts = {}
            if facts.get("version") == version:
                found.append(facts)
            else:
                path.unlink(missing_ok=True)
                path.with_suffix(".npz").unlink(missing_ok=True)
        return found

    def scores(self, kind: str, name: str, version: str) -> tuple[dict[str, float], dict[str, float]] | None:
        """item -> score and item -> probability of a trial of this version, if there is one."""
        if not any(facts["name"] == name and facts["kind"] == kind for facts in self.facts(version)):
            return None
        arrays = store.read_arrays(self._path(kind, name).with_suffix(".npz"))
        ids = arrays["ids"].tolist()
        scores, chances = (dict(zip(ids, arrays[part].tolist(), strict=True)) for part in ("scores", "probabilities"))
        return scores, chances

    def _path(self, kind: str, name: str) -> Path:
        return self.folder / hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()[:16]


def version_of(data: Path) -> str:
    """What the pipeline wrote last: changes with labels, items and features."""
    digest = hashlib.sha256()
    for path in sorted((data / "manifest/labels").glob("*.csv")):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    for path in sorted((data / "features").glob("*/meta.json")):
        digest.update(path.parent.name.encode() + path.read_bytes())
    manifest = data / "manifest/manifest.parquet"
    digest.update(manifest.read_bytes() if manifest.exists() else b"")
    return digest.hexdigest()


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
