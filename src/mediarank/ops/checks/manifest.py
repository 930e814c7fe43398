"""Stage `check_manifest`: check that the collection is complete, well described, and like its last version.

The manifest and the quarantine table are checked here, labels in `labels.py`, changes in `baseline_drift.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import pandas as pd
from pydantic import Field

from mediarank.labels import Labels
from mediarank.ops.checks.baseline_drift import ManifestSummary, drift_suites, summary_of
from mediarank.ops.checks.judge import judge
from mediarank.ops.checks.labels import label_suites
from mediarank.ops.checks.result import CheckResult
from mediarank.ops.checks.rules import Rule, Severity, Suite, at_least, matches, one_of, present, rows_at_least, unique
from mediarank.types import CAUSES, KINDS, OK, QUARANTINED, Manifest, are_among, require_columns

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]

SANE_PATH: Final = r"^(?!/)(?![A-Za-z]:)(?!(?:.*/)?\.\.?(?:/|$))(?!.*//)(?!.*/$)[^\\\x00-\x1f\x7f]+$"
"""Relative, forward slashes, no empty, `.` or `..` part, no control character."""

REBUILD: Final = "The manifest is damaged: delete data/manifest and run dvc repro."


@dataclass(frozen=True)
class ManifestCheckConfig:
    """What stops a run before anything is computed.

    min_items : usable items that a run needs
    max_quarantined_share : of damaged files; files in formats that can't be used here only give a warning
    max_refused_label_share : of the rows in label files, not counting those about quarantined files
    min_classes : fewer give a warning, if there are any classes
    min_positives : items that show a concept or event
    max_lost_share : of the last version's number of usable items
    max_label_drift, max_resolution_drift : dissimilarity to the last version, from 0 (same) to 1 (nothing shared)
    on_vanished : how missing items, kinds, classes, concepts and events count: `error` or `warning`
    on_drift : how other changes against the last version count
    """

    min_items: Count = 10
    max_quarantined_share: Share = 0.2
    max_refused_label_share: Share = 0.2
    min_classes: Count = 2
    min_positives: Count = 1
    max_lost_share: Share = 0.5
    max_label_drift: Share = 0.2
    max_resolution_drift: Share = 0.2
    on_vanished: Severity = "error"
    on_drift: Severity = "warning"
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def check_manifest(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    previous: ManifestSummary | None,
    config: ManifestCheckConfig,
) -> CheckResult:
    """Check a collection; `previous` is the summary of the version to compare with, if there is one.

    quarantine : columns what (`file` or `label`), item_id, source, reason
    """
    suites = manifest_suites(manifest, labels, quarantine, previous, config)
    return judge("check_manifest", suites, summary_of(manifest, labels).to_json())


def manifest_suites(
    manifest: Manifest,
    labels: Labels,
    quarantine: pd.DataFrame,
    previous: ManifestSummary | None,
    config: ManifestCheckConfig,
) -> list[Suite]:
    """All expectations of a collection."""
    require_columns(quarantine, ("what", "item_id", "source", "reason"), "the quarantine table")
    return [
        _items(manifest, config),
        _usable(manifest, config),
        _pictures(manifest),
        _timed(manifest),
        _quarantined(manifest, quarantine),
        *label_suites(
            manifest,
            labels,
            quarantine,
            max_refused_label_share=config.max_refused_label_share,
            min_classes=config.min_classes,
            min_positives=config.min_positives,
        ),
        *drift_suites(
            summary_of(manifest, labels),
            previous,
            max_lost_share=config.max_lost_share,
            max_label_drift=config.max_label_drift,
            max_resolution_drift=config.max_resolution_drift,
            on_vanished=config.on_vanished,
            on_drift=config.on_drift,
        ),
    ]


def _items(manifest: Manifest, config: ManifestCheckConfig) -> Suite:
    share = config.max_quarantined_share
    return Suite(
        "manifest",
        manifest.table.assign(intact=(manifest.table["cause"] != CAUSES[0]).astype(bool)),
        ("item_id", "kind", "status", "reason"),
        (
            Rule(
                "collection_is_not_empty",
                rows_at_least(1),
                "The collection has files.",
                "Point collection.path in params.yaml at a folder with media; `mediarank collections` lists sources.",
            ),
            Rule("item_ids_are_present", present("item_id"), "Every item has an id.", REBUILD),
            Rule("item_ids_are_unique", unique("item_id"), "No two items share an id.", REBUILD),
            Rule("kinds_are_present", present("kind"), "Every item has a kind.", REBUILD),
            Rule("kinds_are_known", one_of("kind", KINDS), f"A kind is one of {', '.join(KINDS)}.", REBUILD),
            Rule("statuses_are_present", present("status"), "Every item has a status.", REBUILD),
            Rule(
                "statuses_are_known",
                one_of("status", (OK, QUARANTINED)),
                f"A status is {OK} or {QUARANTINED}.",
                REBUILD,
            ),
            Rule(
                "few_files_are_damaged",
                one_of("intact", [True], share),
                f"At most {share:.0%} of the files are damaged.",
                "Run `mediarank quarantine` for the reasons: replace or remove these files, or raise "
                "check_manifest.max_quarantined_share in params.yaml.",
            ),
            Rule(
                "few_files_are_of_no_use",
                one_of("status", (OK,), share),
                f"At most {share:.0%} of the files are in quarantine, damaged or not.",
                "Run `mediarank quarantine`: it says what each file would need, such as a package, another format or "
                "higher manifest.limits in params.yaml.",
                "warning",
            ),
        ),
    )


def _usable(manifest: Manifest, config: ManifestCheckConfig) -> Suite:
    columns = ("path", "sha256", "group_id")
    return Suite(
        "usable items",
        manifest.usable,
        ("item_id", *columns),
        (
            Rule(
                "enough_items_are_usable",
                rows_at_least(config.min_items),
                f"At least {config.min_items} items are usable.",
                "Add media, read data/manifest/quarantine.csv for what was refused, or lower check_manifest.min_items.",
            ),
            *(Rule(f"{c}_is_present", present(c), f"Every usable item has a {c}.", REBUILD) for c in columns),
            *(
                Rule(
                    f"{column}_is_sane",
                    matches(column, SANE_PATH),
                    f"{column} is a relative path with forward slashes, without .. and control characters.",
                    "Rename these files in the source folder and run dvc repro.",
                )
                for column in ("item_id", "path")
            ),
            Rule(
                "sha256_is_a_fingerprint",
                matches("sha256", "^[0-9a-f]{64}$"),
                "sha256 is 64 hexadecimal digits.",
                REBUILD,
            ),
            Rule("group_id_is_not_blank", matches("group_id", r"\S"), "Every usable item is in a group.", REBUILD),
        ),
    )


def _pictures(manifest: Manifest) -> Suite:
    usable = manifest.usable
    table = usable[usable["kind"].isin(("image", "clip"))]
    sides = ("width", "height")
    return Suite(
        "images and clips",
        table,
        ("item_id", *sides),
        (
            *(Rule(f"{s}s_are_present", present(s), f"Every usable image and clip has a {s}.", REBUILD) for s in sides),
            *(
                Rule(f"{s}s_are_positive", at_least(s, 1), f"The {s} of usable images and clips is 1 or more.", REBUILD)
                for s in sides
            ),
        ),
        "" if len(table) else "there are no images or clips",
    )


def _timed(manifest: Manifest) -> Suite:
    usable = manifest.usable
    table = usable[usable["kind"].isin(("clip", "sound"))]
    return Suite(
        "clips and sounds",
        table,
        ("item_id", "seconds"),
        (
            Rule("seconds_are_present", present("seconds"), "Every usable clip and sound has a length.", REBUILD),
            Rule(
                "seconds_are_positive",
                at_least("seconds", 0, strictly=True),
                "Usable clips and sounds are longer than 0 seconds.",
                REBUILD,
            ),
        ),
        "" if len(table) else "there are no clips or sounds",
    )


def _quarantined(manifest: Manifest, quarantine: pd.DataFrame) -> Suite:
    reasons = quarantine["reason"].astype(str).fillna("").str.strip()
    listed = quarantine[(quarantine["what"] == "file") & (reasons != "")]
    table = manifest.quarantined
    return Suite(
        "quarantined items",
        table.assign(listed=are_among(table["item_id"], set(listed["item_id"].tolist()))),
        ("item_id", "reason"),
        (
            Rule(
                "quarantine_is_listed",
                one_of("listed", [True]),
                "Every quarantined item is in the quarantine table, with its reason.",
                REBUILD,
            ),
        ),
        "" if len(table) else "no item is quarantined",
    )
