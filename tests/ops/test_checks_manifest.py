"""Every expectation of a collection passes on a good one and fails, on the right rows, on one made to break it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediarank.labels import LABEL_ITEMS, Labels
from mediarank.ops.checks import CheckResult, ManifestCheckConfig, ManifestSummary, Outcome, check_manifest, summary_of
from mediarank.ops.checks.judge import judge
from mediarank.ops.checks.manifest import manifest_suites
from mediarank.types import CheckFailed, DataError, Manifest

ITEMS = 40


@dataclass
class Collection:
    """A good collection whose parts a test may break: 30 images, 6 clips, 3 sounds, one broken file."""

    items: pd.DataFrame
    labels: dict[str, pd.DataFrame]
    quarantine: pd.DataFrame
    previous: ManifestSummary | None = None
    config: ManifestCheckConfig = field(default_factory=ManifestCheckConfig)

    def arguments(self) -> tuple[Manifest, Labels, pd.DataFrame, ManifestSummary | None, ManifestCheckConfig]:
        # Past the contract's own checks: these expectations are the second line of defence.
        manifest = object.__new__(Manifest)
        object.__setattr__(manifest, "table", self.items)
        return manifest, Labels(self.labels), self.quarantine, self.previous, self.config

    def remember(self) -> None:
        """The current state becomes the version to compare with."""
        manifest, labels, *_ = self.arguments()
        self.previous = summary_of(manifest, labels)

    def set(self, row: int, column: str, value: Any) -> None:
        self.items.loc[row, column] = value


def good() -> Collection:
    kinds = ["clip"] * 6 + ["image"] * 31 + ["sound"] * 3
    ids = [f"{kind}s/{number:03d}.bin" for number, kind in enumerate(kinds)]
    items = pd.DataFrame(
        {
            "item_id": ids,
            "path": ids,
            "kind": kinds,
            "width": [0 if kind == "sound" else 640 for kind in kinds],
            "height": [0 if kind == "sound" else 480 for kind in kinds],
            "seconds": [0.0 if kind == "image" else 2.5 for kind in kinds],
            "fps": [25.0 if kind == "clip" else 0.0 for kind in kinds],
            "has_sound": [kind != "image" for kind in kinds],
            "sha256": [f"{number:064x}" for number in range(ITEMS)],
            "group_id": ids,
            "status": ["ok"] * ITEMS,
            "reason": [""] * ITEMS,
            "cause": [""] * ITEMS,
        }
    )
    items.loc[36, ["status", "reason", "cause", "sha256"]] = ["quarantined", "the file is cut off", "damaged", ""]
    usable = [item for item in ids if item != ids[36]]
    labels = {
        "classes": pd.DataFrame({"item": usable, "class": ["coast", "forest", "street"] * 13}),
        "keywords": pd.DataFrame({"item": usable, "keyword": ["sky", "sea", "tree"] * 13}),
        "concepts": pd.DataFrame({"item": usable[:20], "concept": "boat", "relevant": [True, False] * 10}),
        "events": pd.DataFrame({"clip": usable[:6], "event": "landing", "relevant": [True, True, False] * 2}),
        "orderings": pd.DataFrame({"attribute": "open", "target": ["coast", "forest"], "strength": [2.0, 1.0]}),
        "pairs": pd.DataFrame(
            {"attribute": "open", "first": usable[:2], "second": usable[2:4], "relation": [">", "="]}
        ),
        "groups": pd.DataFrame({"item": usable[:2], "group": "video 1"}),
        "queries": pd.DataFrame({"item": usable[:5]}),
        # A fold alone is prescription enough.
        "splits": pd.DataFrame(
            {"item": usable, "role": ["base", "rank", "test"] * 12 + ["", "", "test"], "fold": ["1", "2", "3"] * 13}
        ),
    }
    quarantine = pd.DataFrame(
        [
            ("file", ids[36], ids[36], "the file is cut off"),
            ("label", "nowhere.jpg", "labels/classes.csv line 7", "is about an item that is not in the collection"),
        ],
        columns=["what", "item_id", "source", "reason"],
    )
    collection = Collection(items, labels, quarantine)
    collection.remember()
    return collection


def outcome_of(rule: str, collection: Collection) -> Outcome:
    """Judge the one suite that holds the rule."""
    suites = manifest_suites(*collection.arguments())
    chosen = [suite for suite in suites if rule in {r.name for r in suite.rules}]
    assert len(chosen) == 1, f"{rule} is in {len(chosen)} suites"
    return next(o for o in judge("check", chosen, {}).outcomes if o.name == rule)


def lose_most_items(c: Collection) -> None:
    c.config = replace(c.config, min_items=40)


def repeat_id(c: Collection) -> None:
    c.set(8, "item_id", c.items.loc[7, "item_id"])


def quarantine_many(c: Collection) -> None:
    for row in range(10, 19):
        c.set(row, "status", "quarantined")
        c.set(row, "cause", "damaged")


def many_unsupported(c: Collection) -> None:
    for row in range(10, 19):
        c.set(row, "status", "quarantined")
        c.set(row, "cause", "unsupported")


def refuse_many_labels(c: Collection) -> None:
    refused = [("label", f"x{k}.jpg", "labels/classes.csv", "is about nothing") for k in range(60)]
    c.quarantine = pd.DataFrame(refused, columns=c.quarantine.columns)


def forget_reason(c: Collection) -> None:
    c.quarantine = c.quarantine[c.quarantine["what"] == "label"]


def label_stranger(c: Collection) -> None:
    c.labels["keywords"].loc[4, "item"] = "images/gone.jpg"


def blank_value(c: Collection) -> None:
    c.labels["keywords"].loc[4, "keyword"] = " "


def no_labels(c: Collection) -> None:
    c.labels = {}


def two_classes(c: Collection) -> None:
    c.labels["classes"].loc[1, "item"] = c.labels["classes"].loc[0, "item"]


def one_class(c: Collection) -> None:
    c.labels["classes"]["class"] = "coast"


def lonely_class(c: Collection) -> None:
    c.labels["classes"].loc[0, "class"] = "desert"


def no_positive(c: Collection) -> None:
    c.labels["concepts"]["relevant"] = False


def all_positive(c: Collection) -> None:
    c.labels["events"]["relevant"] = True


def few_positives(c: Collection) -> None:
    c.labels["concepts"]["relevant"] = [True] * 3 + [False] * 17


def one_strength(c: Collection) -> None:
    c.labels["orderings"]["strength"] = 1.0


def strange_role(c: Collection) -> None:
    c.labels["splits"].loc[3, "role"] = "train"


def lose_half(c: Collection) -> None:
    c.items = c.items.iloc[:15].reset_index(drop=True)


def rename_class(c: Collection) -> None:
    c.labels["classes"]["class"] = c.labels["classes"]["class"].replace("coast", "Coast")


def lose_keyword(c: Collection) -> None:
    c.labels["keywords"] = c.labels["keywords"].query("keyword != 'sea'")


def truncate_labels(c: Collection) -> None:
    c.labels["keywords"] = c.labels["keywords"].iloc[:18]


def shrink_pictures(c: Collection) -> None:
    pictures = c.items["kind"] == "image"
    c.items.loc[pictures, ["width", "height"]] = [160, 120]


def cell(row: int, column: str, value: Any) -> Callable[[Collection], None]:
    return lambda c: c.set(row, column, value)


def empty(c: Collection) -> None:
    c.items = c.items.iloc[:0]


# rule, what breaks it, the number of failing rows (None: a rule of the whole table), a word in what is shown
BROKEN: list[tuple[str, Callable[[Collection], None], int | None, str]] = [
    ("collection_is_not_empty", empty, None, "Found: 0"),
    ("item_ids_are_present", cell(5, "item_id", None), 1, "item_id=(missing)"),
    ("item_ids_are_unique", repeat_id, 2, "images/007.bin"),
    ("kinds_are_present", cell(5, "kind", None), 1, "clips/005.bin"),
    ("kinds_are_known", cell(5, "kind", "film"), 1, "kind=film"),
    ("statuses_are_present", cell(5, "status", None), 1, "clips/005.bin"),
    ("statuses_are_known", cell(5, "status", "fine"), 1, "status=fine"),
    ("few_files_are_damaged", quarantine_many, 10, "images/010.bin"),
    ("few_files_are_of_no_use", many_unsupported, 10, "images/010.bin"),
    ("enough_items_are_usable", lose_most_items, None, "Found: 39"),
    ("path_is_present", cell(5, "path", None), 1, "clips/005.bin"),
    ("sha256_is_present", cell(5, "sha256", None), 1, "clips/005.bin"),
    ("group_id_is_present", cell(5, "group_id", None), 1, "clips/005.bin"),
    ("item_id_is_sane", cell(5, "item_id", "/etc/passwd"), 1, "/etc/passwd"),
    ("path_is_sane", cell(5, "path", "images/../../key.jpg"), 1, "images/../../key.jpg"),
    ("sha256_is_a_fingerprint", cell(5, "sha256", "abc"), 1, "sha256=abc"),
    ("group_id_is_not_blank", cell(5, "group_id", ""), 1, "group_id=(empty)"),
    ("widths_are_present", cell(7, "width", np.nan), 1, "images/007.bin"),
    ("heights_are_present", cell(7, "height", np.nan), 1, "images/007.bin"),
    ("widths_are_positive", cell(7, "width", 0), 1, "images/007.bin"),
    ("heights_are_positive", cell(5, "height", -1), 1, "clips/005.bin"),
    ("seconds_are_present", cell(5, "seconds", np.nan), 1, "clips/005.bin"),
    ("seconds_are_positive", cell(38, "seconds", 0.0), 1, "sounds/038.bin"),
    ("quarantine_is_listed", forget_reason, 1, "images/036.bin"),
    ("labels_are_about_usable_items", label_stranger, 1, "item=images/gone.jpg"),
    ("label_values_are_not_blank", blank_value, 1, "table=keywords"),
    ("labels_exist", no_labels, None, "Found: 0"),
    ("most_labels_are_accepted", refuse_many_labels, 60, "is about nothing"),
    ("items_have_one_class", two_classes, 2, "clips/000.bin"),
    ("there_are_enough_classes", one_class, None, "Found: 1"),
    ("classes_have_two_items", lonely_class, 1, "class=desert"),
    ("concepts_have_positives", no_positive, 1, "name=boat"),
    ("concepts_have_negatives", all_positive, 1, "name=landing"),
    ("concepts_have_positives_for_every_role", few_positives, 1, "positives=3"),
    ("attributes_have_two_strengths", one_strength, 1, "attribute=open"),
    ("prescribed_roles_are_known", strange_role, 1, "role=train"),
    ("items_are_still_there", lose_half, 1, "before=39, now=15"),
    ("labels_have_not_vanished", rename_class, 1, "value=coast, before=13, now=0"),
    ("keywords_have_not_vanished", lose_keyword, 1, "value=sea"),
    ("labels_have_not_drifted", truncate_labels, 1, "what=keywords"),
    ("resolutions_have_not_changed", shrink_pictures, 1, "1024: 100.0% before, 0.0% now"),
]
WARNINGS = {
    "few_files_are_of_no_use",
    "labels_exist",
    "there_are_enough_classes",
    "classes_have_two_items",
    "concepts_have_positives_for_every_role",
    "attributes_have_two_strengths",
    "keywords_have_not_vanished",
    "labels_have_not_drifted",
    "resolutions_have_not_changed",
}


@pytest.fixture(scope="module")
def good_result() -> CheckResult:
    return check_manifest(*good().arguments())


def test_a_good_collection_passes_everything(good_result: CheckResult) -> None:
    assert {o.status for o in good_result.outcomes} == {"passed"}, good_result.explain()
    assert good_result.success
    assert good_result.explain() == ""
    good_result.raise_if_failed()


def test_every_rule_is_shown_to_fail(good_result: CheckResult) -> None:
    names = [o.name for o in good_result.outcomes]
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(rule for rule, *_ in BROKEN)


@pytest.mark.parametrize(("rule", "damage", "failing", "shown"), BROKEN, ids=[b[0] for b in BROKEN])
def test_broken(rule: str, damage: Callable[[Collection], None], failing: int | None, shown: str) -> None:
    collection = good()
    damage(collection)
    outcome = outcome_of(rule, collection)
    assert outcome.status == ("warned" if rule in WARNINGS else "failed")
    assert outcome.failing_rows == (failing or 0)
    assert (outcome.observed is None) == (failing is not None)
    assert shown in outcome.explain()
    assert outcome.remedy in outcome.explain()


@pytest.mark.parametrize(
    "path", ["C:/x.jpg", "a\\b.jpg", "a//b.jpg", "./a.jpg", "a/./b.jpg", "a/", "..", "a\nb.jpg", ""]
)
def test_paths_that_are_refused(path: str) -> None:
    collection = good()
    collection.set(5, "item_id", path)
    assert outcome_of("item_id_is_sane", collection).failing_rows == 1


@pytest.mark.parametrize("path", ["a.jpg", "Ferien 2019/Möwe (1).JPG", "a/..b/c..jpg", "a/.hidden/日本.png", "x#1.jpg"])
def test_paths_that_are_fine(path: str) -> None:
    collection = good()
    collection.set(5, "item_id", path)
    assert outcome_of("item_id_is_sane", collection).status == "passed"


@pytest.mark.parametrize(("share", "status"), [(0.7, "passed"), (0.69, "failed")])
def test_the_limit_itself_is_allowed(share: float, status: str) -> None:
    collection = good()
    collection.items = collection.items.iloc[:30]
    for row in range(21):  # 21 of 30 are exactly 70 %
        collection.set(row, "cause", "damaged")
    collection.config = replace(collection.config, max_quarantined_share=share)
    assert outcome_of("few_files_are_damaged", collection).status == status


def test_formats_that_can_not_be_used_do_not_stop_a_run() -> None:
    collection = good()
    many_unsupported(collection)
    assert outcome_of("few_files_are_damaged", collection).status == "passed"
    assert outcome_of("few_files_are_of_no_use", collection).status == "warned"


def test_labels_of_quarantined_files_do_not_count_twice() -> None:
    collection = good()
    refused = [("label", f"x{k}.jpg", "labels/classes.csv", "is about a quarantined item") for k in range(200)]
    collection.quarantine = pd.DataFrame(refused, columns=collection.quarantine.columns)
    assert outcome_of("most_labels_are_accepted", collection).status == "passed"


def test_changes_can_be_made_errors_or_warnings() -> None:
    collection = good()
    rename_class(collection)
    collection.config = replace(collection.config, on_vanished="warning", on_drift="error")
    assert outcome_of("labels_have_not_vanished", collection).status == "warned"
    assert outcome_of("labels_have_not_drifted", collection).status == "failed"


def test_without_an_earlier_version_nothing_is_compared_and_it_says_so() -> None:
    collection = good()
    collection.previous = None
    outcome = outcome_of("labels_have_not_drifted", collection)
    assert (outcome.status, outcome.problem) == ("skipped", "there is no earlier version to compare with")


def test_growth_is_no_drift() -> None:
    """Twice the collection, labelled alike: nothing lost, nothing moved."""
    collection = good()
    more = collection.items.assign(item_id="more/" + collection.items["item_id"])
    collection.items = pd.concat([collection.items, more], ignore_index=True)
    for name, table in collection.labels.items():
        if name != "orderings":
            extra = table.assign(**{column: "more/" + table[column] for column in LABEL_ITEMS[name]})
            collection.labels[name] = pd.concat([table, extra], ignore_index=True)
    for rule in ("items_are_still_there", "labels_have_not_drifted", "resolutions_have_not_changed"):
        assert outcome_of(rule, collection).status == "passed"


def test_drift_is_the_bray_curtis_dissimilarity() -> None:
    """Known answer: 13 of 39 items said `coast`, now 26 do, and none says `forest`: 26 of 78 labels moved."""
    collection = good()
    classes = collection.labels["classes"]
    collection.labels["classes"] = classes.assign(**{"class": classes["class"].replace("forest", "coast")})
    shown = outcome_of("labels_have_not_drifted", collection).first_rows[0]
    assert shown["drift"] == pytest.approx(26 / 78, abs=1e-6)
    assert shown["most_changed"] == "coast: 33.3% before, 66.7% now"


def test_summary_survives_json(good_result: CheckResult) -> None:
    stored = json.loads(json.dumps(good_result.to_json()))
    assert ManifestSummary.from_result(stored) == good().previous
    assert ManifestSummary.from_result({}) is None
    with pytest.raises(DataError, match="no summary that can be read"):
        ManifestSummary.from_result({"summary": {"items": "many"}})


def test_summary_counts_positives_of_usable_items() -> None:
    summary = good().previous
    assert summary is not None
    assert summary.items == 39
    assert summary.kinds == {"clip": 6, "image": 30, "sound": 3}
    assert summary.labels["concepts"] == {"boat": 10}
    assert summary.resolutions == {"clip": {"1024": 6}, "image": {"1024": 30}}


def test_all_failures_are_reported_at_once_and_stop_the_run() -> None:
    collection = good()
    collection.set(5, "sha256", "abc")
    few_positives(collection)
    quarantine_many(collection)
    result = check_manifest(*collection.arguments())
    assert not result.success
    with pytest.raises(CheckFailed) as caught:
        result.raise_if_failed()
    message = str(caught.value)
    assert "check_manifest: 4 of 41 expectations failed." in message
    assert (
        "sha256_is_a_fingerprint (usable items): sha256 is 64 hexadecimal digits.\n  Fails on 1 of 30 rows:" in message
    )
    assert "Fails on 10 of 40 rows, the first of them:\n    item_id=images/010.bin" in message
    assert "What to do: Run `mediarank quarantine` for the reasons" in message
    assert "3 of 41 expectations gave a warning" in message
    assert "labels_have_not_drifted" in message  # a quarter fewer items, and as many labels


def test_a_quarantine_table_without_its_columns_is_refused() -> None:
    collection = good()
    collection.quarantine = collection.quarantine[["what", "item_id"]]
    with pytest.raises(DataError, match="source, reason"):
        check_manifest(*collection.arguments())
