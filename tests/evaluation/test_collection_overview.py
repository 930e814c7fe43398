"""The collection at a glance: contact sheet, near-duplicates, named clusters, outliers."""

from __future__ import annotations

import cv2
import numpy as np
import pandas as pd
import pytest

from mediarank.evaluation.collection_overview import (
    Alike,
    appearance,
    clusters,
    distinguishing,
    facts_of,
    outliers,
    overview_section,
    sampled,
)
from mediarank.evaluation.report import Report, render

BLUE, RED, GREEN = (20, 40, 220), (220, 30, 30), (10, 200, 10)


def look(colour: tuple[int, int, int], seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    noise = np.random.default_rng(seed).integers(-15, 16, (8, 8, 3))
    picture = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    return appearance(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB))


def collection(dated: bool) -> tuple[pd.DataFrame, dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]]:
    """Twelve blue pictures of July in sea/, twelve red ones of August in fire/, and one green one."""
    names = [f"sea/{k:02d}.jpg" for k in range(12)] + [f"fire/{k:02d}.jpg" for k in range(12)] + ["odd.jpg"]
    colours = [BLUE] * 12 + [RED] * 12 + [GREEN]
    items = pd.DataFrame(
        {
            "item_id": names,
            "kind": "image",
            "width": [640] * 12 + [480] * 13,
            "height": [480] * 12 + [640] * 13,
            "taken_at": [f"2019-{'07' if k < 12 else '08'}-01T12:00:00" if dated else "" for k in range(25)],
            "camera": "",
        }
    )
    return items, {name: look(colour, k) for k, (name, colour) in enumerate(zip(names, colours, strict=True))}


def page(dated: bool, duplicates: list[Alike]) -> str:
    items, looks = collection(dated)
    section = overview_section(
        items, looks, (len(duplicates), duplicates), {"sea/01.jpg": ["boat"]}, lambda item: None, 6
    )
    return render(Report("a collection", (), [section]))


def test_clusters_are_named_by_what_distinguishes_them() -> None:
    items, looks = collection(dated=True)
    ids = sorted(looks)
    facts = facts_of(items, looks, {})
    found = clusters(np.stack([looks[i] for i in ids]), [facts[i] for i in ids])
    assert sum(len(members) for _, members in found) == 25
    blue = [name for name, members in found if ids[members[0]].startswith("sea/")]
    assert all("in sea" in name and "blue" in name for name in blue)
    # No cluster mixes the colours.
    assert all(len({ids[m].partition("/")[0] for m in members}) == 1 for _, members in found)


def test_what_holds_everywhere_distinguishes_nothing() -> None:
    facts = [{"a", "x"}, {"a", "x"}, {"a"}, {"a", "y"}]
    assert distinguishing(facts, np.array([0, 1])) == "x"
    assert distinguishing([{"a"}] * 4, np.array([0, 1])) == "mixed"


def test_the_odd_one_is_the_first_outlier() -> None:
    _, looks = collection(dated=True)
    ids = sorted(looks)
    assert ids[outliers(np.stack([looks[i] for i in ids]))[0]] == "odd.jpg"


@pytest.mark.parametrize(("dated", "expected"), [(True, "Contact sheet by month"), (False, "Contact sheet by folder")])
def test_the_contact_sheet_is_by_time_or_folder(dated: bool, expected: str) -> None:
    text = page(dated, [])
    assert expected in text
    assert ("2019-07" in text) == dated
    assert "No two pictures look the same." in text
    assert "Unlike all others" in text


def test_folders_on_the_contact_sheet_have_their_names() -> None:
    items, _ = collection(dated=False)
    items["item_id"] = ["top.jpg", *(f"2024.05 trip/{k:02d}.jpg" for k in range(1, len(items)))]
    section = overview_section(items, {}, (0, []), {}, lambda item: None, 6)
    text = render(Report("a collection", (), [section]))
    assert "2024.05 trip" in text
    assert "(top)" in text


def test_near_duplicates_with_the_best_shot_first() -> None:
    shots = [("sea/03.jpg", "640 × 480"), ("sea/04.jpg", "320 × 240")]
    text = page(True, [(2, shots), (900, shots)])
    assert "2 pictures, best: sea/03.jpg" in text
    assert "900 pictures, best of 2 compared: sea/03.jpg" in text
    assert text.index("640 × 480") < text.index("320 × 240")


def test_samples_are_spread_evenly() -> None:
    assert sampled([str(k) for k in range(10)], 5) == ["0", "2", "4", "6", "8"]
    assert sampled(["a"], 5) == ["a"]
    assert sampled([], 5) == []
