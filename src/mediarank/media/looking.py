"""One file as features would see it, for looking at it rather than keeping it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mediarank.media.clip import decode_clip
from mediarank.media.frames import FramesConfig
from mediarank.media.image import Pixels, decode_image
from mediarank.media.limits import Limits
from mediarank.media.probe import probe
from mediarank.media.sound import decode_sound
from mediarank.media.working import fit_inside
from mediarank.types import Floats


def look(path: Path, config: FramesConfig, limits: Limits | None = None) -> tuple[Pixels, Floats | None]:
    """The picture (of a clip, its middle frame; of a sound, grey) and the sound, if there is one."""
    limits = limits or Limits()
    kind = probe(path, limits).kind
    if kind == "image":
        return fit_inside(decode_image(path, limits), config.max_side), None
    if kind == "clip":
        clip = decode_clip(path, limits, 1, "uniform", config.max_side, config.sample_rate)
        return clip.pictures[0][1], clip.sound
    return np.full((64, 64, 3), 128, np.uint8), decode_sound(path, limits, config.sample_rate)
