"""Pictures with structure, made from seeds: smooth areas of colour with edges, not white noise."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]


def make_picture(seed: int, height: int = 96, width: int = 128) -> Picture:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    picture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(6):
        corner = rng.integers(0, (width, height))
        colour = tuple(int(c) for c in rng.integers(0, 256, 3))
        cv2.rectangle(picture, tuple(map(int, corner)), tuple(map(int, corner + rng.integers(5, 40, 2))), colour, -1)
    noise = rng.integers(-6, 7, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)
