"""Learn one name now, and list what to review next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import DATA, JOURNAL, app
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import own_names, workspace

TRIALS = Path(".mediarank/trials")


@app.command()
def learn(
    name: Annotated[str, typer.Argument(help="a concept, keyword, class, event or attribute, new or known")],
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
) -> None:
    """Learn one name from the current statements. It is a trial: the next `dvc repro` replaces it."""
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.learning import Trials, teach_now, version_of

    _, taught = teach_now(workspace(), current_labels(DATA, JOURNAL), name, count)
    measure = "pairs in the right order" if taught.kind == "pair" else "average precision"
    print(f"TRIAL of the {taught.kind} {name}: {taught.learned.positives} yes, {taught.learned.negatives} no")
    named = own_names(workspace())
    for rank, item in enumerate(taught.first, start=1):
        new = "" if not taught.first_before or item in taught.first_before else "  (new here)"
        print(f"{rank:>4}  {named(item)}{new}")
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
    json: Json = False,
) -> None:
    """List what is worth looking at: what to label next, suspected errors, or duplicates whose labels differ."""
    from mediarank.teaching.current import current_labels
    from mediarank.teaching.queues import review_list

    kind = "duplicates" if duplicates else "errors" if errors else "next"
    entries = review_list(workspace(), current_labels(DATA, JOURNAL), kind, name or "", count).entries
    if json:
        print_json(entries)
        return
    named = own_names(workspace())
    for entry in entries:
        change = " -> ".join(words for words in (entry.labelled, entry.suggested) if words)
        about = ": ".join(words for words in (entry.name, change) if words)
        print("  ".join(part for part in (named(entry.item), about, f"({entry.reason})") if part))
    print(f"{len(entries)} entries" if entries else "Nothing to review.")
