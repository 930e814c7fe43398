"""Make the whole collection: every image, every clip, the damaged files, and the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank.collections.demo import clips, pictures
from mediarank.collections.demo.damaged import DAMAGED, MISSING
from mediarank.collections.demo.events import EVENTS
from mediarank.collections.demo.plan import ClipPlan, DemoConfig, ImagePlan, plan_clips, plan_images
from mediarank.collections.demo.vocabulary import ATTRIBUTES, CLASSES, CONCEPTS, strengths
from mediarank.fanout import fan_out
from mediarank.labels import Labels


def produce(config: DemoConfig, media: Path) -> Labels:
    """Write all pictures and clips below the folder `media`, and return their labels."""
    images, films = plan_images(config), plan_clips(config)
    for folder in ("images", "clips"):
        (media / folder).mkdir(parents=True, exist_ok=True)
    words = fan_out(partial(_make_image, seed=config.seed, media=media), images, "drawing images")
    fan_out(partial(_make_clip, seed=config.seed, media=media), films, "filming clips")
    if config.damaged:
        _damage(media, images, films)
    return _labels(config, images, films, words)


def _make_image(plan: ImagePlan, seed: int, media: Path) -> list[str]:
    """Draw one image, and its near-duplicate if it has one; returns its keywords."""
    picture, words = pictures.draw(plan, seed)
    path = media / plan.item_id
    path.write_bytes(pictures.encode(picture, path, tones=plan.tones, quality=plan.quality))
    if plan.copied:
        copy = media / plan.copy_id
        tones = "grey" if plan.tones == "grey" else "colour"
        copy.write_bytes(pictures.encode(pictures.cropped_again(picture), copy, tones=tones, quality=68))
    return words


def _make_clip(plan: ClipPlan, seed: int, media: Path) -> None:
    (media / plan.item_id).write_bytes(clips.encode(*clips.film(plan, seed)))


def _damage(media: Path, images: Sequence[ImagePlan], films: Sequence[ClipPlan]) -> None:
    """Write the damaged files, each made from a good one of its kind."""
    photo = next(plan for plan in images if plan.item_id.endswith(".jpg"))
    drawing = media / "images/damaged_size.png"
    good = {
        ".jpg": (media / photo.item_id).read_bytes(),
        ".png": pictures.encode(np.full((300, 400, 3), 128, np.uint8), drawing),
        ".mp4": (media / films[0].item_id).read_bytes(),
    }
    for item_id, spoil in DAMAGED.items():
        path = media / item_id
        path.write_bytes(spoil(good[path.suffix]))


def _labels(
    config: DemoConfig, images: Sequence[ImagePlan], films: Sequence[ClipPlan], words: Sequence[Sequence[str]]
) -> Labels:
    said = list(_with_copies(images, words))
    classes = [(item, plan.scene) for item, plan, _ in said]
    keywords = [(item, word) for item, _, kept in said for word in kept]
    concepts = [(item, concept, int(concept in plan.concepts)) for item, plan, _ in said for concept in CONCEPTS]
    events = [(plan.item_id, event, int(event == plan.event)) for plan in films for event in EVENTS]
    if config.damaged:
        wrong_images = [item for item in (*DAMAGED, *MISSING) if item.startswith("images/")]
        wrong_clips = [item for item in (*DAMAGED, *MISSING) if item.startswith("clips/")]
        classes += [(item, CLASSES[0]) for item in wrong_images]
        keywords += [(item, "sea") for item in wrong_images]
        concepts += [(item, next(iter(CONCEPTS)), 0) for item in wrong_images]
        events += [(item, next(iter(EVENTS)), 1) for item in wrong_clips]
    orderings = [(name, target, float(strong)) for name in ATTRIBUTES for target, strong in strengths(name).items()]
    return Labels(
        {
            "classes": pd.DataFrame(classes, columns=["item", "class"]),
            "keywords": pd.DataFrame(keywords, columns=["item", "keyword"]),
            "concepts": pd.DataFrame(concepts, columns=["item", "concept", "relevant"]),
            "events": pd.DataFrame(events, columns=["clip", "event", "relevant"]),
            "orderings": pd.DataFrame(orderings, columns=["attribute", "target", "strength"]),
        }
    )


def _with_copies(
    images: Sequence[ImagePlan], words: Sequence[Sequence[str]]
) -> Iterator[tuple[str, ImagePlan, Sequence[str]]]:
    """Every image file with its plan and its words; a near-duplicate has its original's words."""
    for plan, kept in zip(images, words, strict=True):
        yield plan.item_id, plan, kept
        if plan.copied:
            yield plan.copy_id, plan, kept
