"""Why a result was found, in plain words: "same colours, similar textures; the shapes differ"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from mediarank.systems.retrieval.learned_types import LEARNED_TYPES

LOOKS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("lab_histogram", "rgb_histogram", "hsv_histogram", "rgb", "hsv", "lab", "hue", "autocorrelogram"), "colours"
    ),
    "colour_moments": "colours",
    **dict.fromkeys(("lbp", "gabor", "gaborq", "gabor_bank", "haar", "haarq", "haar_texture"), "textures"),
    **dict.fromkeys(("hog", "edge_direction"), "shapes"),
    "gist": "layout",
    "sift": "details",
    "network": "content",
    "flow": "motion",
    "hog3d": "motion",
    "mfcc": "sound",
    "mfcc_statistics": "sound",
    **dict.fromkeys(LEARNED_TYPES, "kind"),
}
"""Feature family, or what was learned from classes -> what a person would call it."""
SAME: Final = 1.5
SIMILAR: Final = 0.5
DIFFERENT: Final = -0.25
"""Deviations above what two items have on average."""


def in_words(reasons: pd.DataFrame, families: Mapping[str, str]) -> str:
    """A sentence from a table of reasons. families : feature type -> its family

    reasons : feature, value: by how many deviations two items are more alike than two items on average
    """
    looks = reasons.assign(look=[LOOKS.get(families.get(f, f), f) for f in reasons["feature"]])
    means = looks.groupby("look", sort=True)["value"].mean().sort_values(ascending=False, kind="stable")
    same = [str(look) for look, value in means.items() if value >= SAME]
    similar = [str(look) for look, value in means.items() if SIMILAR <= value < SAME]
    differ = [str(look) for look, value in means.items() if value <= DIFFERENT]
    likes = [text for text in (_listed("same", same), _listed("similar", similar)) if text]
    sentence = ", ".join(likes) or "alike in nothing that stands out"
    if not differ:
        return sentence
    one = len(differ) == 1 and not differ[0].endswith("s")
    return f"{sentence}; the {_and(differ)} {'differs' if one else 'differ'}"


def _listed(word: str, looks: list[str]) -> str:
    return f"{word} {_and(looks)}" if looks else ""


def _and(looks: list[str]) -> str:
    return looks[0] if len(looks) == 1 else f"{', '.join(looks[:-1])} and {looks[-1]}" if looks else ""
