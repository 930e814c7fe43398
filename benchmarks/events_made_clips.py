"""Made-up clips with features: where rules of choosing a method are compared before any real test clip is looked at.

A collection has five feature types of histograms, two of them frame by frame, and few positives per event, in one of
four shapes: 8 or 6 events that every clip shows one of, one event in half of the clips, three events among many other
clips. How types see events decides which fusion suits, so there are three kinds:

apart : every type sees events in its own way, with errors of its own, so that evidence adds up
either : a type recognises about half of the positives and sees nothing special in the others
shared : all types look at the same few causes, so that their errors are common and evidence adds up to less
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mediarank.systems.events.fit import Clips
from mediarank.types import FeatureMatrix

SHAPES: Final = ((130, 8, 0.0), (140, 6, 0.0), (300, 1, 0.5), (400, 3, 0.7))
"""Clips, events, and the share of clips that show none."""
SEEN: Final = ("apart", "either", "shared")
TYPES: Final = 5
RECOGNISED: Final = 0.55
CAUSES: Final = 6
SHARES: Final = (0.4, 0.5)
"""Up to where an event's clips are of role `base`, then `rank`; the others are for testing."""


def made_clips(seed: int) -> tuple[str, Clips]:
    """The kind, and the clips."""
    rng = np.random.default_rng(seed)
    count, events, other = SHAPES[seed % len(SHAPES)]
    kind = SEEN[seed // len(SHAPES) % len(SEEN)]
    event = rng.integers(events, size=count)
    event[rng.random(count) < other] = -1
    names = np.array([f"c{k:03d}" for k in range(count)])
    seen = rng.random((TYPES, count)) < RECOGNISED if kind == "either" else np.ones((TYPES, count), bool)
    centres = 1.2 * rng.standard_normal((events, CAUSES))
    causes = np.where((event >= 0)[:, None], centres[np.maximum(event, 0)], 0) + rng.standard_normal((count, CAUSES))
    matrices = {}
    for number in range(TYPES):
        bins, frames = int(rng.choice([40, 100, 300])), 5 if number < 2 else 1
        quality = rng.uniform(0, 1.0, events) * (1.5 if kind == "either" else 0.9) * rng.uniform(0.3, 1.2)
        if kind == "shared":
            centre = causes @ (rng.standard_normal((CAUSES, bins)) * rng.uniform(0.1, 0.5))
        else:
            centre = np.zeros((count, bins))
            for e in range(events):
                shown = (event == e) & seen[number]
                centre[shown] += quality[e] * rng.standard_normal(bins) * (rng.random(bins) < 0.3)
        centre += rng.standard_normal((count, 8)) @ (0.4 * rng.standard_normal((8, bins)))
        matrices[f"type{number}"] = _histograms(names, centre, frames, rng)
    parts: dict[str, list[str]] = {"base": [], "rank": [], "valid": [], "test": []}
    for e in range(-1, events):
        dealt = rng.permutation(names[event == e]).tolist()
        first, second = (round(share * len(dealt)) for share in SHARES)
        for role, members in zip(
            ("base", "rank", "test"), (dealt[:first], dealt[first:second], dealt[second:]), strict=True
        ):
            parts[role] += members
    shown_by = {f"event{e}": frozenset(names[event == e].tolist()) for e in range(events)}
    groups = {name: name for name in names.tolist()}
    roles = {role: tuple(sorted(members)) for role, members in parts.items()}
    return kind, Clips(**roles, matrices=matrices, shown=shown_by, groups=groups)


def _histograms(names: np.ndarray, centre: np.ndarray, frames: int, rng: np.random.Generator) -> FeatureMatrix:
    """Square roots of normalised histograms; one row per clip or per frame."""
    ids, rows = [], []
    for frame in range(frames):
        counts = np.exp(centre + 0.8 * rng.standard_normal(centre.shape))
        rows.append(np.sqrt(counts / counts.sum(axis=1, keepdims=True)))
        ids.append(np.char.add(names, f"#{frame}") if frames > 1 else names)
    order = np.argsort(np.concatenate(ids))
    values = np.concatenate(rows)[order].astype(np.float32)
    return FeatureMatrix(np.concatenate(ids)[order], tuple(f"bin{k}" for k in range(centre.shape[1])), values)
