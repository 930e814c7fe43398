"""What paper 004 reports, in % of test pairs in order: figure 2 (UT-Zap50K), table 1 (PubFig) and figure 3 (OSR)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd

Rows = Mapping[str, Sequence[float]]
ATTRIBUTES: Mapping[str, Sequence[str]] = {
    "osr": ("natural", "open", "perspective", "large-objects", "diagonal-plane", "close-depth"),
    "pubfig": (
        "Masculine-looking", "White", "Young", "Smiling", "Chubby", "Visible-forehead", "Bushy-eyebrows",
        "Narrow-eyes", "Pointy-nose", "Big-lips", "Round-face",
    ),
    "zap50k-1": ("open", "pointy", "sporty", "comfort"),
    "zap50k-2": ("open", "pointy", "sporty", "comfort"),
}  # fmt: skip
"""Collection -> its attributes, in the order of the paper's columns and with the names in the collection's files."""
PUBLISHED: Mapping[str, Rows] = {
    "osr": {
        "rankmkl": (96.20, 93.69, 89.84, 90.06, 91.11, 91.54),
        "concatenation": (95.54, 91.77, 88.40, 88.54, 89.56, 90.02),
        "gist": (94.62, 91.44, 85.66, 86.47, 86.31, 86.80),
        "lbp": (94.26, 89.41, 86.15, 86.18, 87.13, 88.14),
        "hog": (91.73, 90.37, 84.47, 84.79, 84.58, 82.14),
        "gabor": (74.16, 79.80, 72.20, 71.88, 69.90, 74.27),
        "local_pair": (94.63, 93.27, 88.33, 89.40, 90.70, 89.53),
        "fg_local_pair": (94.68, 92.90, 88.03, 88.84, 89.65, 89.91),
        "relative_tree": (95.24, 92.39, 87.58, 88.34, 89.34, 89.54),
    },
    "pubfig": {
        "rankmkl": (87.88, 85.85, 88.44, 87.39, 86.32, 93.97, 85.98, 87.91, 88.33, 86.83, 88.16),
        "concatenation": (87.16, 85.21, 87.91, 86.59, 85.96, 93.83, 84.98, 86.90, 87.54, 86.40, 87.74),
        "gist": (86.95, 83.04, 85.80, 84.52, 81.98, 90.75, 83.97, 84.77, 83.17, 84.40, 86.25),
        "colour": (62.22, 61.27, 59.11, 57.98, 54.73, 69.52, 60.80, 59.79, 57.81, 57.46, 56.94),
        "gabor": (80.02, 76.33, 80.73, 80.12, 79.23, 86.32, 76.33, 77.44, 77.83, 79.40, 80.64),
        "hog": (81.83, 77.57, 82.28, 81.98, 80.97, 89.68, 80.07, 80.15, 81.87, 82.72, 83.72),
        "lbp": (85.83, 81.23, 86.28, 85.74, 83.84, 92.03, 84.44, 84.38, 85.70, 84.09, 86.16),
        "relative_tree": (85.33, 82.59, 84.41, 83.36, 78.97, 88.83, 81.84, 83.15, 80.43, 81.87, 86.31),
        "local_pair": (81.53, 77.13, 83.53, 82.60, 78.70, 89.40, 80.63, 82.40, 78.17, 79.77, 82.13),
        "fg_local_pair": (86.94, 82.89, 84.84, 83.83, 82.84, 89.20, 85.04, 84.87, 84.12, 84.21, 85.74),
    },
    "zap50k-1": {
        "rankmkl": (93.63, 92.57, 95.07, 93.20),
        "concatenation": (92.97, 92.03, 94.63, 92.27),
        "gist": (91.77, 92.13, 93.90, 93.10),
        "colour": (70.60, 74.40, 79.37, 71.70),
        "lbp": (90.57, 90.53, 93.17, 91.83),
        "hog": (89.73, 88.37, 89.27, 89.67),
        "gabor": (87.50, 87.13, 88.70, 87.50),
        "local_pair": (88.53, 88.87, 92.20, 90.90),
        "fg_local_pair": (90.67, 90.83, 92.67, 92.37),
    },
    "zap50k-2": {
        "rankmkl": (64.91, 66.72, 67.31, 66.50),
        "concatenation": (64.36, 65.87, 67.31, 67.01),
        "gist": (62.00, 64.42, 66.76, 63.43),
        "colour": (46.18, 52.47, 55.22, 57.30),
        "lbp": (66.18, 65.53, 64.08, 66.70),
        "hog": (62.82, 65.19, 63.07, 66.09),
        "gabor": (62.82, 60.15, 62.79, 60.98),
        "local_pair": (71.64, 59.56, 61.22, 59.75),
    },
}


def in_table_order(source: str, attributes: Sequence[str]) -> list[str]:
    """The attributes in the order of the paper's columns; others after them."""
    order = {_plain(name): place for place, name in enumerate(ATTRIBUTES.get(source, ()))}
    return sorted(attributes, key=lambda name: order.get(_plain(name), len(order)))


def published(source: str, attributes: Sequence[str]) -> pd.DataFrame:
    """One row per published method, with these attributes as columns; empty where the paper has other attributes."""
    known = ATTRIBUTES.get(source, ())
    if [_plain(name) for name in attributes] != [_plain(name) for name in known]:
        return pd.DataFrame(columns=list(attributes))
    return pd.DataFrame(PUBLISHED[source], index=list(attributes)).T.rename(index=lambda name: f"published {name}")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
