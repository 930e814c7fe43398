"""From a painted canvas to a photograph: falling rain or snow, an unsteady hand, exposure, lens and sensor."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import rgb

Pixels = npt.NDArray[np.uint8]


def photograph(canvas: Canvas, *, noise: float = 3.5) -> Pixels:
    """8-bit RGB of the canvas, as a camera might have seen it.

    noise : deviation of the sensor's noise, in grey levels
    """
    rng = canvas.rng
    if canvas.light.weather in ("rain", "snow") and canvas.light.haze_strength > 0:
        _precipitation(canvas)
    _vignette(canvas)
    picture = _jitter(rng, quantised(canvas))
    picture = cv2.LUT(picture, _tone_curves(rng, float(picture.mean()) / 255.0))
    picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 0.9))
    grain = rng.standard_normal(picture.shape[:2], dtype=np.float32) * np.float32(noise * rng.uniform(0.5, 1.6))
    planes = [cv2.add(plane, grain, dtype=cv2.CV_8U) for plane in cv2.split(picture)]
    return np.asarray(cv2.merge(planes), np.uint8)


def quantised(canvas: Canvas) -> Pixels:
    """The canvas as it is, in 8 bits: rows × columns × 3."""
    planes = np.clip(canvas.planes * np.float32(255) + np.float32(0.5), 0, 255).astype(np.uint8)
    return np.asarray(cv2.merge(list(planes)), np.uint8)


def _tone_curves(rng: np.random.Generator, mean: float) -> Pixels:
    """What each level of red, green and blue becomes: exposure towards the middle, white balance, contrast."""
    exposure = (0.42 / max(mean, 0.05)) ** 0.35 * rng.uniform(0.88, 1.12)
    balance = np.exp(rng.normal(0, 0.035, 3))
    levels = np.linspace(0, 1, 256)[:, None] * (exposure * balance)
    curves = np.clip(levels, 0, 1) ** rng.uniform(0.85, 1.15) * 255
    return np.asarray(np.round(curves), np.uint8).reshape(1, 256, 3)


def _precipitation(canvas: Canvas) -> None:
    rng, height, width = canvas.rng, canvas.height, canvas.width
    drops = (rng.random((height, width), dtype=np.float32) > 0.9965).astype(np.float32)
    if canvas.light.snowy:
        mask = cv2.GaussianBlur(drops, (0, 0), rng.uniform(0.9, 1.6)) * 5.0
    else:
        kernel = np.zeros((17, 17), np.float32)
        lean = int(rng.integers(-4, 5))
        cv2.line(kernel, (8 + lean, 0), (8 - lean, 16), 1.0, 1, cv2.LINE_AA)
        mask = cv2.filter2D(drops, -1, kernel) * 0.35
    canvas.blend(0, 0, np.clip(mask, 0.0, 0.85), rgb(canvas.light.horizon) * 0.5 + np.float32(0.45))


def _jitter(rng: np.random.Generator, picture: Pixels) -> Pixels:
    """Turn by a degree or two, enlarge a little, shift."""
    height, width = picture.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), rng.normal(0, 1.6), rng.uniform(1.03, 1.12))
    matrix[:, 2] += rng.normal(0, 0.012, 2) * (width, height)
    turned = cv2.warpAffine(picture, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(turned, np.uint8)


def _vignette(canvas: Canvas) -> None:
    dx = np.linspace(-1, 1, canvas.width, dtype=np.float32)[None, :]
    dy = np.linspace(-1, 1, canvas.height, dtype=np.float32)[:, None]
    canvas.planes *= 1.0 - np.float32(canvas.rng.uniform(0.0, 0.11)) * (dx * dx + dy * dy)
