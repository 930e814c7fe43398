"""Make one planned image: paint it, photograph it, choose its keywords, encode it as JPEG or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2
import numpy as np

from mediarank.collections.demo.paint.camera import Pixels, photograph
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import light_for
from mediarank.collections.demo.plan import ImagePlan
from mediarank.collections.demo.props import LOOKALIKES, PROPS
from mediarank.collections.demo.props.cast import Cast
from mediarank.collections.demo.scenes import SCENES

MOST_WORDS: Final = 8


def draw(plan: ImagePlan, seed: int) -> tuple[Pixels, list[str]]:
    """The picture (RGB) and its keywords."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=plan.stream))
    canvas = Canvas(rng, *plan.shape, light_for(rng, plan.hour, plan.weather))
    cast = Cast([PROPS[name] for name in plan.concepts] + [LOOKALIKES[name] for name in plan.decoys])
    words = _paint(plan.scene, canvas, cast)
    picture = photograph(canvas)
    return picture, _labelled(rng, words, certain=len(plan.concepts) + len(plan.decoys))


def _paint(scene: str, canvas: Canvas, cast: Cast) -> list[str]:
    """Paint the scene with its cast; returns the words for what is in it, props first, then by importance."""
    props = [prop.word for prop in cast.waiting]
    SCENES[scene](canvas, cast)
    if cast.waiting:
        waiting = ", ".join(prop.word for prop in cast.waiting)
        raise ValueError(f"A {scene} has no {cast.waiting[0].zone} to put {waiting}; see the table CONCEPTS.")
    hour, weather = canvas.light.hour, canvas.light.weather
    seen = [word for word in canvas.words if word not in props]
    weather_words = [hour] if hour in ("dawn", "dusk", "night") else []
    weather_words += [weather] if weather in ("fog", "rain", "snow") and scene != "interior" else []
    return list(dict.fromkeys(props + weather_words + seen))


def _labelled(rng: np.random.Generator, words: list[str], certain: int) -> list[str]:
    """Keywords as a hurried person would give them: 2 to `MOST_WORDS`, all of the first `certain`, most of the rest."""
    kept = [word for place, word in enumerate(words) if place < max(certain, 2) or rng.random() < 0.75]
    return kept[:MOST_WORDS]


def cropped_again(picture: Pixels) -> Pixels:
    """The picture without a thin border: a second version of the same file."""
    height, width = picture.shape[:2]
    return picture[height // 100 : height - height // 80, width // 80 : width - width // 100]


def encode(picture: Pixels, path: Path, *, tones: str = "colour", quality: int = 86) -> bytes:
    """The bytes of a picture file of the path's kind; `tones` is colour, grey or alpha."""
    coded = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if tones == "grey" else cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    if tones == "alpha":
        # Opaque except for soft corners, like a picture cut out for a web page.
        height, width = coded.shape[:2]
        dx, dy = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
        alpha = np.clip((1.9 - dx**4 - dy**4) * 400, 0, 255).astype(np.uint8)
        coded = np.dstack([coded, alpha])
    options = [cv2.IMWRITE_JPEG_QUALITY, quality] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 4]
    done, data = cv2.imencode(path.suffix, coded, options)
    if not done:
        raise OSError(f"OpenCV could not encode {path.name}.")
    return bytes(data.tobytes())
