"""Stage `report`: one self-contained page that answers first, then shows the collection, the checks and the results.

Beside the page it writes `summary.json`, a few numbers that the next version's report is compared with (the one before
is `baseline/report.json`, decision 13), and `results.svg`, a picture of them that other tools show. No clock is read:
the date on the page is that of the newest picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import cv2
import pandas as pd
from pydantic import Field

from mediarank import store
from mediarank.asking.duplicates import Duplicates, duplicate_groups
from mediarank.evaluation.answers import Open, answers_section
from mediarank.evaluation.blocks import Column, Gallery, Row, Strip, Table, Text, Tile
from mediarank.evaluation.collection_overview import GRID, GROUP_SHOTS, GROUPS, appearance, overview_section, sampled
from mediarank.evaluation.folded import Folded
from mediarank.evaluation.measured import Measured
from mediarank.evaluation.report import Report, Section, render
from mediarank.evaluation.report_summary import results_figure, summary_of
from mediarank.evaluation.sections import Check, checks_section, collection_facts, collection_section
from mediarank.evaluation.version_changes import Summary, changes, is_new
from mediarank.labels import Labels
from mediarank.media.image import Pixels
from mediarank.media.shards import Media
from mediarank.media.thumbnails import strips, thumbnails
from mediarank.media.working import read_picture
from mediarank.systems.registry import reporting
from mediarank.systems.results import SystemResult
from mediarank.types import Doubles, Manifest, Roles, are_among


@dataclass(frozen=True)
class ReportConfig:
    """Settings of the page.

        title : of the page
        thumbnail_side : pixels of the longer side
        results : pictures per ranked row
    near_duplicate_bits : pictures whose hashes differ in this many bits or fewer are shown as near-duplicates
    """

    title: str = "mediarank"
    thumbnail_side: Annotated[int, Field(ge=32, le=640)] = 144
    results: Annotated[int, Field(ge=1, le=50)] = 12
    near_duplicate_bits: Annotated[int, Field(ge=0, lt=16)] = 4
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class Pictures:
    """The pictures of the report.

    frames : the table of working copies
    picture : path of a working copy -> its pixels
    duplicates : groups that look alike
    strip : item -> frames of it, if it is a clip
    """

    frames: pd.DataFrame
    picture: Callable[[str], Pixels]
    duplicates: Sequence[Duplicates]
    strip: Callable[[str], Strip | None]


def read_result(name: str, data: Path, labels: Labels) -> SystemResult:
    """What the stages of a system wrote."""
    folder = data / "systems" / name
    measured = Measured(*store.read_measured(data / "evaluation" / name))
    facts, figures = store.read_json(folder / "model.json"), store.read_json(folder / "figures.json")
    chances = folder / "probabilities"
    probabilities = store.read_features(chances) if chances.exists() else None
    return SystemResult(store.read_scores(folder), measured, labels, facts, figures, probabilities)


def run(systems: Sequence[str], config: ReportConfig, data: Path, baseline: Path, settings: Mapping[str, Any]) -> str:
    """Write `report/report.html`, `summary.json` and `results.svg`; returns where the page is.

    baseline : the folder with the summary of the version before
    settings : params.yaml, to be shown
    """
    frames = store.read_table(data / "frames/frames.parquet")
    manifest, labels = (
        store.read_manifest(data / "manifest/manifest.parquet"),
        store.read_labels(data / "manifest/labels"),
    )
    media = Media(data / "frames/media")

    def picture(path: str) -> Pixels:
        return read_picture(media[path])

    frames_of = strips(frames, media, config.thumbnail_side)
    page, summary = build_report(
        manifest,
        labels,
        store.read_quarantine(data / "frames/quarantine.csv"),
        store.read_roles(data / "splits/roles.parquet"),
        {stage: store.read_json(data / stage / "result.json") for stage in ("check_manifest", "check_features")},
        {name: read_result(name, data, labels) for name in systems},
        thumbnails(frames, media, config.thumbnail_side),
        config,
        Pictures(
            frames,
            picture,
            duplicate_groups(manifest, frames, picture, config.near_duplicate_bits),
            lambda item: Strip(*made) if (made := frames_of(item)) else None,
        ),
        store.read_json(baseline / "report.json"),
        settings,
    )
    target = data / "report/report.html"
    store.write_json(data / "report/summary.json", summary)
    store.write_text(data / "report/results.svg", results_figure(summary))
    store.write_text(target, page)
    return f"The report is {target}."


def build_report(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    roles: Roles,
    checks: Mapping[str, Any],
    results: Mapping[str, SystemResult],
    thumbnail: Callable[[str], bytes | None],
    config: ReportConfig,
    pictures: Pictures,
    before: Summary,
    settings: Mapping[str, Any],
) -> tuple[str, dict[str, Any]]:
    """The page as HTML, and its summary.

    checks : stage -> its result
    results : system -> what it wrote
    before : the summary of the version before, or `{}`
    """
    classes = labels.class_of
    refused = set(quarantine.loc[quarantine["what"] == "file", "item_id"].tolist())
    usable = manifest.usable[~manifest.usable["item_id"].isin(refused)]
    role_of = dict(zip(roles.table["item_id"].tolist(), roles.table["role"].tolist(), strict=True))
    judged = [_check(stage, found) for stage, result in checks.items() for found in result["expectations"]]
    answers = {name: reporting(name).answer(result) for name, result in results.items() if result.scores}
    summary = summary_of(usable, _labelled(labels), answers, settings)
    ranked = [_section(name, result, thumbnail, config) for name, result in results.items()]
    glance = _glance(manifest, labels, pictures, thumbnail, config)
    # If nothing was learned, the pictures come first.
    sections = [
        answers_section(answers, _open(usable, labels, quarantine, judged, results, before, summary), thumbnail),
        *_new_section(usable, before, thumbnail, config.results),
        *([*ranked, glance] if answers else [glance, *ranked]),
        collection_section(manifest.usable, classes, quarantine, role_of),
        checks_section(judged),
        _made_from(summary),
    ]
    lead = "What can be found in this collection, and how well, on items that nothing was fitted to."
    facts = collection_facts(manifest, classes, quarantine)
    versions = {
        "collection": summary["collection"],
        **({"newest picture": summary["newest"]} if summary["newest"] else {}),
    }
    return render(Report(config.title, facts, sections, lead, versions, strip=pictures.strip)), summary


def _labelled(labels: Labels) -> dict[str, int]:
    """Name -> how many items are labelled with it."""
    counts: dict[str, int] = {}
    events = labels["events"]
    shown = events[events["relevant"].astype(bool)]
    for name in (*(concept for concept, _ in labels.shown), *shown["event"]):
        counts[str(name)] = counts.get(str(name), 0) + 1
    return dict(sorted(counts.items()))


def _open(
    usable: pd.DataFrame,
    labels: Labels,
    quarantine: pd.DataFrame,
    checks: Sequence[Check],
    results: Mapping[str, SystemResult],
    before: Summary,
    summary: Summary,
) -> Open:
    """What no system answers: what is wrong with the data, what is new, what has no label."""
    notes = [f"The check {c.stage} failed: {c.expectation} {c.detail}" for c in checks if not c.passed]
    notes += [f"{c.expectation} ({c.detail})" for c in checks if c.passed and c.detail.startswith("warning")]
    if len(quarantine):
        notes.append(f"{len(quarantine):,} files or labels could not be used; the table Quarantine says why.")
    if not before:
        new = [
            "There is no earlier version to compare with. The next run that changes something is compared with this."
        ]
    else:
        new = changes(before, summary) or ["Nothing has changed since the last version."]
    events = labels["events"]
    known = {*labels.looked_at, *events["clip"]}
    open_items = int((~are_among(usable["item_id"], known) & (usable["kind"] != "sound")).sum())
    skipped = {
        name: str(r.facts.get("skipped") or r.facts.get("warning") or "fitted, but not measured.")
        for name, r in results.items()
        if not r.scores
    }
    return Open(skipped, notes, new, open_items, summary["labels"])


def _new_section(
    usable: pd.DataFrame, before: Summary, thumbnail: Callable[[str], bytes | None], per_row: int
) -> list[Section]:
    """Pictures of items that the version before did not have."""
    pairs = zip(usable["item_id"].tolist(), usable["sha256"].tolist(), strict=True)
    new = sorted(item for item, digest in pairs if is_new(before, item, digest))
    if not new:
        return []
    tiles = [
        Tile(thumbnail(item), item.rsplit("/", 1)[-1], title=item, item=item) for item in sampled(new, 2 * per_row)
    ]
    row = Row(f"{len(new):,} items", tiles, "" if len(tiles) == len(new) else f"{len(tiles)} of them")
    return [Section("New items", [Gallery("New since the last version", [row])])]


def _made_from(summary: Summary) -> Section:
    """How to make this page again, and the settings that it was made with."""
    rows = [[key, value] for key, value in summary["settings"].items()]
    how = [
        "`bin/mediarank report` wrote this page, the last stage of `make run` and of `dvc repro`. `bin/mediarank "
        "versions` lists the versions, `bin/mediarank lineage` says which files, labels, settings and code made one.",
    ]
    table = Table("Settings", [Column("params.yaml"), Column("value")], rows)
    return Section("Made from", [Text(how), Folded(f"Settings ({len(rows)})", [table])])


def _glance(
    manifest: Manifest,
    labels: Labels,
    pictures: Pictures,
    thumbnail: Callable[[str], bytes | None],
    config: ReportConfig,
) -> Section:
    """The collection itself, from a sample of its pictures."""
    seen = pictures.frames.drop_duplicates("item_id")
    path_of = dict(zip(seen["item_id"].tolist(), seen["path"].tolist(), strict=True))
    looks = {item: _look(pictures.picture(path_of[item])) for item in sampled(sorted(path_of))}
    words: dict[str, list[str]] = {item: [name] for item, name in labels.class_of.items()}
    for item, word in zip(labels["keywords"]["item"].tolist(), labels["keywords"]["keyword"].tolist(), strict=True):
        words.setdefault(item, []).append(word)
    alike = []
    for group in pictures.duplicates[:GROUPS]:
        some = replace(group, items=tuple(sampled(group.items, GROUP_SHOTS)))
        shots = [(s.item, f"{s.width} × {s.height}, sharpness {s.sharpness:.0f}") for s in some.shots]
        alike.append((len(group.items), shots))
    usable = manifest.usable[are_among(manifest.usable["item_id"], path_of)]
    return overview_section(usable, looks, (len(pictures.duplicates), alike), words, thumbnail, config.results)


def _look(picture: Pixels) -> Doubles:
    small = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), (GRID, GRID), interpolation=cv2.INTER_AREA)
    return appearance(small)


def _section(
    name: str, result: SystemResult, thumbnail: Callable[[str], bytes | None], config: ReportConfig
) -> Section:
    if not result.scores:
        why = result.facts.get("skipped") or f"Fitted, but not measured. {result.facts.get('warning', '')}"
        return Section(name.capitalize(), [Text([why])])
    return reporting(name).section(result, thumbnail, config.results)


def _check(stage: str, found: Mapping[str, Any]) -> Check:
    detail = found["problem"] or (f"{found['failing_rows']} of {found['rows']} rows" if found["failing_rows"] else "")
    note = {"warned": "warning: ", "skipped": "not judged: "}.get(found["status"], "")
    return Check(stage, found["expected"], found["status"] != "failed", f"{note}{detail}")
