"""Show the collection: sources, quarantine, names to ask for, near-duplicates, and export of labels."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from mediarank import store
from mediarank.cli.app import DATA, app, console
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import workspace
from mediarank.types import ConfigError, DataError


@app.command()
def collections(
    folder: Annotated[Path | None, typer.Argument(help="a folder to recognise")] = None, json: Json = False
) -> None:
    """List the sources that collection.source can name, or say which one a folder is and how it is read."""
    from mediarank.collections import sources as registry
    from mediarank.collections.tree import obstacles

    if folder is not None:
        name = registry.recognise(folder.expanduser())
        print(name)
        for note in registry.open_collection(folder.expanduser(), name).notes:
            print(f"note: {note}")
        for obstacle in obstacles(folder.expanduser()):
            print(f"DVC will stop at {obstacle}")
        return
    if json:
        print_json([{"source": name, "reads": line} for name, line in registry.describe()])
        return
    for name, line in registry.describe():
        print(f"{name:<12} {line}")


@app.command()
def quarantine(json: Json = False) -> None:
    """Print what can't be used, why, and what it would need; and what was skipped."""
    from rich.table import Table

    from mediarank.asking.quarantine import current_quarantine

    found = current_quarantine(DATA)
    if json:
        print_json({"quarantine": found.table, "skipped": found.skipped})
        return
    view = Table(title=f"{len(found.table)} in quarantine, {found.note}", title_justify="left")
    for name in ("item", "where", "reason", "needs"):
        view.add_column(name, overflow="fold")  # a truncated name can't be searched for
    for what, item, source, *rest in found.table.itertuples(index=False, name=None):
        view.add_row(*(_shown(cell) for cell in (item, what if source == item else source, *rest)))
    console().print(view)
    if len(found.skipped):
        view = Table("kind", "reason", "files", "example", title="Skipped", title_justify="left")
        for row in found.skipped.itertuples(index=False):
            view.add_row(*(_shown(cell) for cell in row))
        console().print(view)


@app.command()
def names(
    kind: Annotated[str | None, typer.Argument(help="only class, keyword, concept, event or attribute")] = None,
    json: Json = False,
) -> None:
    """List the concepts, words, events, attributes and classes that can be asked for."""
    from mediarank.asking.label_names import label_names

    table = label_names(store.read_labels(DATA / "manifest/labels"))
    if kind is not None:
        table = table[table["kind"] == kind.lower().rstrip("s").replace("classe", "class")]
    if json:
        print_json(table)
        return
    for row in table.itertuples(index=False):
        print(f"{row.kind:<10} {row.labels:>7}  {row.name}")
    if table.empty:
        print("There are no such names: the collection has no labels of this kind.")


@app.command()
def duplicates(
    bits: Annotated[
        int | None, typer.Option(min=0, max=15, help="how many bits may differ; by default splits.near_duplicate_bits")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="a CSV file to write them to")] = None,
    json: Json = False,
) -> None:
    """List groups of pictures that look the same, the best shot (by sharpness and size) first."""
    from mediarank import config
    from mediarank.asking.duplicates import as_table, duplicate_groups
    from mediarank.media.shards import Media
    from mediarank.media.working import read_picture

    frames = store.read_table(DATA / "frames/frames.parquet")
    manifest = store.read_manifest(DATA / "manifest/manifest.parquet")
    allowed = config.load().splits.near_duplicate_bits if bits is None else bits
    media = Media(DATA / "frames/media")
    groups = duplicate_groups(manifest, frames, lambda path: read_picture(media[path]), allowed)
    table = as_table(groups)
    if json:
        print_json(table)
        return
    for row in table.itertuples(index=False):
        mark = "best" if row.best else ""
        print(f"{row.group:>4}  {mark:<4}  {row.width:>5} × {row.height:<5}  {row.sharpness:>8.1f}  {row.item}")
    print(f"{len(groups)} groups of {len(table)} pictures that differ in {allowed} bits of 64 or fewer.")
    if to is not None:
        store.write_csv(to, table)
        print(f"Table: {to}")


@app.command()
def export(
    form: Annotated[str, typer.Argument(help="csv, coco, label-studio or xmp")],
    to: Annotated[Path, typer.Argument(help="a folder to write into; never the collection's own")],
    suggestions: Annotated[
        bool, typer.Option("--suggestions", help="also write suggested keywords, marked as such, with probabilities")
    ] = False,
) -> None:
    """Write the labels as CSV, COCO, Label Studio or XMP sidecars, for other programs."""
    from mediarank import config
    from mediarank.asking.annotate import suggestions as suggested_words
    from mediarank.collections.exporting import FORMATS, exported, refuse_place

    if form not in FORMATS:
        raise ConfigError(f"Labels can't be exported as {form!r}; known formats are {', '.join(FORMATS)}.")
    for kept in (Path(config.load().collection.path), DATA):
        if refusal := refuse_place(to, kept):
            raise ConfigError(refusal)
    labels = store.read_labels(DATA / "manifest/labels")
    guessed = suggested_words(workspace()) if suggestions else None
    files = list(exported(labels, store.read_manifest(DATA / "manifest/manifest.parquet"), form, guessed))
    existing = next((to / path for path, _ in files if (to / path).exists()), None)
    if existing is not None:
        raise ConfigError(f"{existing} exists and is not overwritten. Name an empty folder, or move it away.")
    for path, content in files:
        store.write_bytes(to / path, content)
    print(f"{len(files)} files in {to}" + ("" if guessed is None else f", with {len(guessed)} suggestions"))


@app.command()
def original(
    item: Annotated[str, typer.Argument(help="an item of the collection")],
    to: Annotated[Path, typer.Option(help="a file to write; it must not exist")],
) -> None:
    """Get the original of an item out of data/raw, as it was collected."""
    from mediarank.cli.opened import asked, workspace
    from mediarank.media.files import sha256_of

    space = workspace()
    (found,) = asked(space, [item], usable=False)
    if found.item is None:
        raise ConfigError(f"{item} is a file outside the collection; name an item.")
    if to.exists():
        raise ConfigError(f"{to} exists and is not overwritten. Name another file.")
    with store.atomic_path(to) as target:
        with space.originals[found.item].open("rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        wanted = space.manifest.table.set_index("item_id").at[found.item, "sha256"]
        if wanted and sha256_of(target) != wanted:
            raise DataError(f"The original of {found.item} is damaged here. Run `bin/mediarank verify`.")
    print(f"{to}: {to.stat().st_size:,} bytes, as they were collected")


def _shown(cell: object) -> str:
    """Text from data as a terminal may show it: without control characters. `console` reads no markup in it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(cell))
