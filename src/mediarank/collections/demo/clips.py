"""Make one planned clip: paint a scene, add motion and sound, encode H.264 and AAC."""

from __future__ import annotations

import io
from typing import Final

import av
import cv2
import numpy as np

from mediarank.collections.demo.actions import ACTIONS
from mediarank.collections.demo.paint.camera import Pixels, quantised
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import light_for
from mediarank.collections.demo.plan import FPS, ClipPlan
from mediarank.collections.demo.props.cast import Cast
from mediarank.collections.demo.scenes import SCENES
from mediarank.collections.demo.sounds import RATE, mixed
from mediarank.collections.demo.sprites import Stage
from mediarank.types import Floats

HEIGHT, WIDTH = 120, 160
MARGIN: Final = 12
"""Pixels painted beyond each edge, for the camera to move in."""


def film(plan: ClipPlan, seed: int) -> tuple[list[Pixels], Floats | None]:
    """The frames (RGB) and the sound, or None for a silent clip."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=plan.stream))
    light = light_for(rng, plan.hour, plan.weather)
    canvas = Canvas(rng, HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN, light)
    SCENES[plan.scene](canvas, Cast())
    backdrop = quantised(canvas)
    action = ACTIONS[plan.action](Stage(rng, HEIGHT, WIDTH, light, plan.seconds))
    count = round(plan.seconds * FPS)
    path = _camera_path(rng, count)
    exposure = float(255 * (0.42 / max(float(backdrop.mean()) / 255, 0.05)) ** 0.3 * rng.uniform(0.9, 1.1))
    grain = rng.standard_normal((HEIGHT + 32, WIDTH + 32), dtype=np.float32) * np.float32(rng.uniform(1, 5))
    grain = cv2.merge([grain] * 3)
    frames = []
    for n in range(count):
        view = np.asarray([(1, 0, -path[n, 0]), (0, 1, -path[n, 1])], np.float32)
        seen = cv2.warpAffine(backdrop, view, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        frame = seen.astype(np.float32) * np.float32(1 / 255)
        action.draw(frame, n / FPS)
        dx, dy = rng.integers(0, 32, 2).tolist()
        noise = grain[dy : dy + HEIGHT, dx : dx + WIDTH]
        frames.append(cv2.addWeighted(frame, exposure, noise, 1.0, 0.0, dtype=cv2.CV_8U))
    if plan.sound is None:
        return frames, None
    return frames, mixed(rng, plan.sound, plan.scene, plan.seconds, action.cues)


def _camera_path(rng: np.random.Generator, count: int) -> Floats:
    """The view's upper left corner in each frame: a still hand, an unsteady one, or a slow pan."""
    shake = np.cumsum(rng.normal(0, rng.choice([0.1, 0.7, 1.4]), (count, 2)), axis=0)
    pan = np.linspace(-1, 1, count)[:, None] * rng.normal(0, rng.choice([0.0, 7.0]), 2)
    return np.asarray(np.clip(MARGIN + shake - shake.mean(axis=0) + pan, 0, 2 * MARGIN), np.float32)


def encode(frames: list[Pixels], sound: Floats | None) -> bytes:
    """An MP4 file. One thread and no dates, so that the same frames give the same bytes."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        video = container.add_stream("libx264", rate=FPS, options={"preset": "superfast", "crf": "28", "threads": "1"})
        video.height, video.width = frames[0].shape[:2]
        video.pix_fmt = "yuv420p"
        audio = None
        if sound is not None:
            audio = container.add_stream("aac", rate=RATE, layout="mono", options={"aac_coder": "fast"})
            audio.bit_rate = 48_000
        for frame in frames:
            container.mux(video.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(video.encode())
        if audio is not None and sound is not None:
            samples = av.AudioFrame.from_ndarray(sound[None], format="fltp", layout="mono")
            samples.sample_rate = RATE
            samples.pts = 0
            container.mux(audio.encode(samples))
            container.mux(audio.encode())
    return buffer.getvalue()
