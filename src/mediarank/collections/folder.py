"""Any folder of pictures, clips and sounds, with labels from files, photo programs or the names of folders.

Labels are read from these places, in this order: the canonical tables (`classes.csv`, `keywords.csv`, …) and simple
label files (`labels.csv`, `tags.csv`, …) in the folder or its `labels/`, exports of annotation programs in JSON, XMP
sidecars, the pictures themselves, and the names of the folders. All are used together; where two contradict each
other, the earlier one wins. Folder names give classes only if no table does, or if `collection.classes` says so.
"""

from __future__ import annotations

from pathlib import Path

from mediarank.collections import described, label_files, label_json
from mediarank.collections.file_facts import FileFacts
from mediarank.collections.layout import ClassRule, Layout, read_layout
from mediarank.collections.listing import Listing
from mediarank.collections.merging import Found, merged
from mediarank.collections.names import Names
from mediarank.collections.tables import make_labels
from mediarank.collections.tree import media_below
from mediarank.labels import Labels
from mediarank.types import DataError


def recognises(folder: Path) -> bool:
    return bool(media_below(folder).files)


def read(folder: Path, classes: ClassRule = "auto", facts: FileFacts | None = None) -> Listing:
    """Read the folder.

    classes : which folder names become classes, see `layout`
    facts : know which pictures describe themselves; by default each picture is opened
    """
    tree = media_below(folder)
    if not tree.files:
        raise DataError(f"{folder} holds no image, clip or sound; collection.path must name a folder that does.")
    names = Names(tree.files)
    exports, unknown = label_json.found_in(folder, names)
    sidecars, notes = described.from_sidecars(tree.sidecars, tree.files)
    pictures = described.from_pictures(tree.files, facts or FileFacts())
    found = [*label_files.found_in(folder, names), *exports, *(place for place in (sidecars, pictures) if place)]
    layout = read_layout(tree.files, classes)
    given = {item for place in found for item in place.labels["classes"]["item"]}
    if given and classes == "auto" and layout.classes:
        layout = Layout((), layout.splits, f"classes: from label files, not from folders, for {len(given)} files")
    labels, overruled = merged([*found, Found("folders", make_labels(classes=layout.classes, splits=layout.splits))])
    if unknown:
        notes.append(f"{len(unknown)} JSON files are in no known format and are skipped, such as {unknown[0]}")
    previews = [place.preview for place in found if place.preview]
    said = [*tree.notes, *tree.other_files, *previews, *([layout.note] if layout.note else []), *notes, *overruled]
    return Listing(tree.files, _with_events(labels), tuple(said), tuple(tree.counted()))


def _with_events(labels: Labels) -> Labels:
    """The classes of clips are events, unless events are given."""
    if len(labels["events"]):
        return labels
    events = make_labels(events=label_files.events_of(list(labels.class_of.items())))
    return Labels({**labels.tables, "events": events["events"]})
