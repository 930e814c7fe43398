"""A small collection of working copies: pictures, clips and sounds, with the tables of the frames stage."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from made_pictures import make_picture

from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_rows
from mediarank.features.fitting import fit
from mediarank.media.files import File
from mediarank.media.shards import Media
from mediarank.media.working import encode_picture, encode_sound
from mediarank.types import FeatureMatrix, Roles


class Collection:
    """Five images (the last a copy of the first), two clips of three frames, one of them with sound, and a sound."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        frames, sounds = [], []
        for i in range(5):
            name = f"images/{i}.png"
            frames.append(self.frame(name, name, "image", 0, make_picture(0 if i == 4 else i, 40, 48)))
        for c in range(2):
            name = f"clips/{c}.mp4"
            pictures = [make_picture(10 + 3 * c + t, 40, 48) for t in range(3)]
            frames += [self.frame(f"{name}#{t:03d}", name, "clip", t, p) for t, p in enumerate(pictures)]
        for name, seed in (("clips/1.mp4", 1), ("sounds/0.wav", 2)):
            noise = np.random.default_rng(seed).normal(0, 0.1, 4000).astype(np.float32)
            path, digest = self.write(f"{name}.wav", encode_sound(noise, 16_000))
            sounds.append({"item_id": name, "path": path, "seconds": 0.25, "sha256": digest})
        self.frames = pd.DataFrame(frames).sample(frac=1, random_state=0)  # rows are found by id, not by place
        self.sounds = pd.DataFrame(sounds).iloc[::-1]
        items = sorted({*self.frames["item_id"], *self.sounds["item_id"]})
        self.roles = self.split(dict.fromkeys(items, "base"))

    def write(self, path: str, content: bytes) -> tuple[str, str]:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)
        return path, hashlib.sha256(content).hexdigest()

    def frame(self, frame_id: str, item_id: str, kind: str, index: int, picture: np.ndarray) -> dict[str, Any]:
        path, digest = self.write(f"{frame_id}.jpg", encode_picture(picture))
        return {
            "frame_id": frame_id, "item_id": item_id, "kind": kind, "index": index, "seconds": 0.1 * index,
            "path": path, "width": 48, "height": 40, "sha256": digest, "phash": "0" * 16,
            "burst": "", "burst_frames": 0, "burst_sha256": "",
        }  # fmt: skip

    def split(self, roles: dict[str, str]) -> Roles:
        rows = [{"item_id": i, "group_id": i, "role": role, "fold": 0} for i, role in roles.items()]
        return Roles(pd.DataFrame(rows))

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame, Media, Roles]:
        return self.frames, self.sounds, Media(self.folder), self.roles


def described(
    family: Extractor | LocalExtractor,
    frames: pd.DataFrame,
    sounds: pd.DataFrame,
    media: Mapping[str, File],
    roles: Roles,
    cache: FeatureCache | None = None,
) -> FeatureMatrix:
    """Fitted and extracted, as the stage does it."""
    return extract_rows(fit(family, frames, sounds, media, roles, cache), frames, sounds, media, cache)
