"""Stage `report`: one self-contained page that shows the collection, the checks and every system's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import cv2
import pandas as pd
from pydantic import Field

from mediarank import store
from mediarank.asking.duplicates import Duplicates, duplicate_groups
from mediarank.evaluation.blocks import Text
from mediarank.evaluation.collection_overview import GRID, appearance, overview_section, sampled
from mediarank.evaluation.measured import Measured
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.report import Report, Section, render
from mediarank.evaluation.sections import Check, checks_section, collection_facts, collection_section
from mediarank.labels import Labels
from mediarank.media.image import Pixels
from mediarank.media.shards import Media
from mediarank.media.thumbnails import thumbnails
from mediarank.media.working import read_picture
from mediarank.systems.registry import reporting
from mediarank.types import Doubles, FeatureMatrix, Manifest, Roles


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
    """

    frames: pd.DataFrame
    picture: Callable[[str], Pixels]
    duplicates: Sequence[Duplicates]


@dataclass(frozen=True)
class SystemResult:
    """What a system's two stages wrote: its scores, how good they are, its model's facts and the paper's figures."""

    scores: Mapping[str, FeatureMatrix | Rankings]
    measured: Measured
    facts: Mapping[str, Any]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, data: Path) -> SystemResult:
        folder = data / "systems" / name
        measured = Measured(*store.read_measured(data / "evaluation" / name))
        facts, figures = store.read_json(folder / "model.json"), store.read_json(folder / "figures.json")
        return cls(store.read_scores(folder), measured, facts, figures)


def run(systems: Sequence[str], config: ReportConfig, data: Path) -> str:
    """Write `report/report.html`; returns where it is."""
    frames = store.read_table(data / "frames/frames.parquet")
    manifest, labels = (
        store.read_manifest(data / "manifest/manifest.parquet"),
        store.read_labels(data / "manifest/labels"),
    )
    media = Media(data / "frames/media")

    def picture(path: str) -> Pixels:
        return read_picture(media[path])

    page = build_report(
        manifest,
        labels,
        store.read_quarantine(data / "frames/quarantine.csv"),
        store.read_roles(data / "splits/roles.parquet"),
        {stage: store.read_json(data / stage / "result.json") for stage in ("check_manifest", "check_features")},
        {name: SystemResult.read(name, data) for name in systems},
        thumbnails(frames, media, config.thumbnail_side),
        config,
        Pictures(frames, picture, duplicate_groups(manifest, frames, picture, config.near_duplicate_bits)),
    )
    target = data / "report/report.html"
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
) -> str:
    """The page as HTML.

    checks : stage -> its result
    results : system -> what it wrote
    """
    classes = labels.class_of
    role_of = dict(zip(roles.table["item_id"], roles.table["role"], strict=True))
    ranked = [_section(name, result, labels, thumbnail, config) for name, result in results.items()]
    glance = _glance(manifest, labels, pictures, thumbnail, config)
    # If nothing was learned, the pictures come first.
    sections = [
        *([*ranked, glance] if any(result.scores for result in results.values()) else [glance, *ranked]),
        collection_section(manifest.usable, classes, quarantine, role_of),
        checks_section([_check(stage, found) for stage, result in checks.items() for found in result["expectations"]]),
    ]
    lead = "How well each system ranks this collection, on items that nothing was fitted to."
    return render(Report(config.title, collection_facts(manifest, classes, quarantine), sections, lead))


def _glance(
    manifest: Manifest,
    labels: Labels,
    pictures: Pictures,
    thumbnail: Callable[[str], bytes | None],
    config: ReportConfig,
) -> Section:
    """The collection itself, from a sample of its pictures."""
    seen = pictures.frames.drop_duplicates("item_id")
    path_of = dict(zip(seen["item_id"], seen["path"], strict=True))
    looks = {item: _look(pictures.picture(path_of[item])) for item in sampled(sorted(path_of))}
    words: dict[str, list[str]] = {item: [name] for item, name in labels.class_of.items()}
    for item, word in zip(labels["keywords"]["item"], labels["keywords"]["keyword"], strict=True):
        words.setdefault(item, []).append(word)
    alike = [
        [(shot.item, f"{shot.width} × {shot.height}, sharpness {shot.sharpness:.0f}") for shot in group.shots]
        for group in pictures.duplicates
    ]
    usable = manifest.usable[manifest.usable["item_id"].isin(path_of)]
    return overview_section(usable, looks, alike, words, thumbnail, config.results)


def _look(picture: Pixels) -> Doubles:
    small = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), (GRID, GRID), interpolation=cv2.INTER_AREA)
    return appearance(small)


def _section(
    name: str, result: SystemResult, labels: Labels, thumbnail: Callable[[str], bytes | None], config: ReportConfig
) -> Section:
    if not result.scores:
        why = result.facts.get("skipped") or f"Fitted, but not measured. {result.facts.get('warning', '')}"
        return Section(name.capitalize(), [Text([why])])
    return reporting(name).section(
        result.scores, result.measured, labels, thumbnail, config.results, result.facts, result.figures
    )


def _check(stage: str, found: Mapping[str, Any]) -> Check:
    detail = found["problem"] or (f"{found['failing_rows']} of {found['rows']} rows" if found["failing_rows"] else "")
    note = {"warned": "warning: ", "skipped": "not judged: "}.get(found["status"], "")
    return Check(stage, found["expected"], found["status"] != "failed", f"{note}{detail}")
