"""Learn one name now, and list what to review next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank.cli.app import DATA, JOURNAL, app
from mediarank.cli.opened import workspace

if TYPE_CHECKING:
    from mediarank.teaching.learning import Taught
    from mediarank.teaching.review import Entry

TRIALS = Path(".mediarank/trials")


@app.command()
def learn(
    name: Annotated[str, typer.Argument(help="a concept, keyword, class, event or attribute, new or known")],
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
) -> None:
    """Learn one name from the current statements. It is a trial: the next `dvc repro` replaces it."""
    from mediarank.teaching.learning import Trials, version_of

    taught = _taught(name, count)
    measure = "pairs in the right order" if taught.kind == "pair" else "average precision"
    print(f"TRIAL of the {taught.kind} {name}: {taught.learned.positives} yes, {taught.learned.negatives} no")
    for rank, item in enumerate(taught.first, start=1):
        new = "" if not taught.first_before or item in taught.first_before else "  (new here)"
        print(f"{rank:>4}  {DATA / 'raw/media' / item}{new}")
    before = "a new name" if taught.ap_before != taught.ap_before else f"{taught.ap_before:.3f}"
    after = "too few to measure" if taught.learned.ap != taught.learned.ap else f"{taught.learned.ap:.3f}"
    print(
        f"{taught.changed} of the first {len(taught.first)} changed. "
        f"By cross-validation, {measure}: {before} -> {after}"
    )
    Trials(TRIALS).keep(taught, version_of(DATA))
    print("Kept beside the versioned model until the next `dvc repro`, which learns the same statements for good.")


@app.command()
def review(
    name: Annotated[str | None, typer.Argument(help="what to label next for this name")] = None,
    errors: Annotated[bool, typer.Option("--errors", help="labels that are probably wrong")] = False,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="items that look the same, labelled differently")
    ] = False,
    count: Annotated[int, typer.Option(min=1, help="how many entries to show")] = 20,
) -> None:
    """List what is worth looking at: what to label next, suspected errors, or duplicates whose labels differ."""
    entries = _duplicates() if duplicates else _errors(name, count) if errors else _next(name, count)
    for entry in entries[:count]:
        about = f"{entry.name}: " if entry.name else ""
        instead = f" -> {entry.suggested}" if entry.suggested else ""
        print(f"{DATA / 'raw/media' / entry.item}  {about}{entry.labelled}{instead}  ({entry.reason})")
    print(f"{min(len(entries), count)} of {len(entries)} entries" if entries else "Nothing to review.")


def _taught(name: str, count: int = 20) -> Taught:
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.learning import kind_of, open_space, teach

    space, now = workspace(), current_labels(DATA, JOURNAL)
    kind = kind_of(name, now.labels)
    return teach(open_space(space, "clip" if kind == "event" else "image"), name, space.labels, now, count=count)


def _next(name: str | None, count: int) -> list[Entry]:
    import numpy as np

    from mediarank.teaching.current import current_labels
    from mediarank.teaching.learning import kind_of, open_space, said_of
    from mediarank.teaching.review import next_for_all, next_to_label
    from mediarank.types import DataError

    labels = current_labels(DATA, JOURNAL).labels
    if name is None:
        space = open_space(workspace())
        return next_for_all(space, space.rows(labels.looked_at), count)
    kind = kind_of(name, labels)
    if kind == "pair":
        raise DataError(f"{name!r} is an attribute; review what to label next for a concept, keyword, class or event.")
    space, taught = open_space(workspace(), "clip" if kind == "event" else "image"), _taught(name)
    yes, no = said_of(space, name, kind, labels)
    return next_to_label(space, taught.learned.scores, taught.probabilities, np.union1d(yes, no), count, name)


def _errors(name: str | None, count: int) -> list[Entry]:
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.learning import SEED, one_thread, open_space
    from mediarank.teaching.review import suspected_classes, suspected_names

    labels, space = current_labels(DATA, JOURNAL).labels, open_space(workspace())
    shown: dict[str, set[str]] = {}
    for concept, item in labels.shown:
        shown.setdefault(concept, set()).add(item)
    with one_thread():
        if name is not None and name in shown:
            found = suspected_names(space, shown, labels.looked_at, SEED, 10 * count * len(shown))
            return [entry for entry in found if entry.name == name][:count]
        found = suspected_names(space, shown, labels.looked_at, SEED, count)
        found += suspected_classes(space, labels.class_of, SEED, count)
    return sorted(found, key=lambda entry: -entry.weight)[:count]


def _duplicates() -> list[Entry]:
    from mediarank.similarity.near_duplicates import near_duplicate_groups
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.review import differing_duplicates

    labels, space = current_labels(DATA, JOURNAL).labels, workspace()
    looks = space.frames.drop_duplicates("item_id")
    items = looks["item_id"].tolist()
    groups = near_duplicate_groups(looks["phash"].tolist())
    shown: dict[str, set[str]] = {}
    for concept, item in labels.shown:
        shown.setdefault(concept, set()).add(item)
    return differing_duplicates(
        {i: str(g) for i, g in zip(items, groups.tolist(), strict=True)}, shown, labels.looked_at
    )
