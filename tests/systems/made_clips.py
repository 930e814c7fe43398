"""Clips of two events, as a collection's features, labels and roles."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.types import FeatureMatrix, Roles

EVENTS = ("dance", "race")
FRAMES = 3


def inputs(clips: int = 60, silent: int = 6, seed: int = 0, frames: int = FRAMES, positives: int = 0) -> Inputs:
    """`positives` clips of each event at the end of each third, or every fourth and fifth clip if 0."""
    rng = np.random.default_rng(seed)
    names = np.array([f"clips/{k:03d}.mp4" for k in range(clips)])
    shown = np.stack([np.arange(clips) % (4 + e) == e for e in range(len(EVENTS))])
    if positives:
        shown = np.stack([np.arange(clips) % (clips // positives) == e for e in range(len(EVENTS))])
    owner = np.repeat(np.arange(clips), frames)
    frame_ids = np.array([f"{names[k]}#{f:03d}" for k in range(clips) for f in range(frames)])

    def words(strength: float) -> np.ndarray:
        counts = rng.gamma(1.0, size=(clips, 8)) + strength * shown.T @ np.eye(8)[: len(EVENTS)]
        return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)

    def frame_values(strength: float, columns: int) -> np.ndarray:
        signal = strength * shown.T[owner] @ np.eye(columns)[: len(EVENTS)]
        return (rng.standard_normal((len(owner), columns)) + signal).astype(np.float32)

    features = {
        "motion": FeatureMatrix(names, tuple("abcdefgh"), words(2.0)),
        "sound": FeatureMatrix(names[silent:], tuple("abcdefgh"), words(4.0)[silent:]),
        "gist_frames": FeatureMatrix(frame_ids, tuple("abcde"), frame_values(0.8, 5)),
    }
    responses = np.clip(frame_values(0.5, 4) / 4, -1, 1)
    roles = np.array(["base", "base", "base", "rank", "test", "test"])[np.arange(clips) % 6]
    table = [(clip, event, bool(shown[e, k])) for k, clip in enumerate(names) for e, event in enumerate(EVENTS)]
    return Inputs(
        features,
        Labels({"events": pd.DataFrame(table, columns=["clip", "event", "relevant"])}),
        Roles(pd.DataFrame({"item_id": names, "group_id": names, "role": roles, "fold": 0})),
        base_scores={"gist_frames": FeatureMatrix(frame_ids, ("boat|0", "dog|0", "boat|1", "dog|1"), responses)},
    )
