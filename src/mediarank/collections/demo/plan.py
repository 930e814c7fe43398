"""The plan of every item: everything that is decided before it is drawn.

`plan_images` and `plan_clips` deal out scenes, light, props and events so that every share in the vocabulary is met
exactly; drawing then decides the rest with the item's own random stream. Planning takes milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from pydantic import Field

from mediarank.collections.demo.events import BACKGROUND, EVENT_SHARE, EVENTS
from mediarank.collections.demo.vocabulary import CLASSES, CONCEPTS, HOUR_SHARES, HOURS, WEATHER_SHARES, WEATHERS

MOST_PROPS: Final = 3
DECOYS: Final = 0.5
"""Look-alikes per picture of the real thing."""

SHAPES: Final = ((270, 360), (270, 360), (270, 360), (300, 400), (252, 448), (384, 288), (336, 336), (240, 400))
"""Heights and widths; all longer than the default working copies."""

SILENT_SHARE: Final = 0.04
FPS: Final = 10

STREAM_IMAGES, STREAM_CLIPS, STREAM_PLAN = 0, 1, 2


@dataclass(frozen=True)
class DemoConfig:
    """Size and seed of the demo collection.

    copies : near-duplicates (slightly cropped, encoded again) of some images, in addition to `images`
    damaged : whether to add files that can't be decoded and labels of items that don't exist
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    images: Annotated[int, Field(ge=8)] = 640
    clips: Annotated[int, Field(ge=8)] = 210
    copies: Annotated[int, Field(ge=0)] = 6
    damaged: bool = True
    seed: Annotated[int, Field(ge=0)] = 7


@dataclass(frozen=True)
class ImagePlan:
    """An image to draw. `tones` is colour, grey or alpha; `stream` names its own random stream."""

    item_id: str
    stream: tuple[int, ...]
    scene: str
    hour: str
    weather: str
    concepts: tuple[str, ...]
    decoys: tuple[str, ...]
    shape: tuple[int, int]
    tones: str
    quality: int
    copied: bool

    @property
    def copy_id(self) -> str:
        """The id of this image's near-duplicate, if it has one."""
        return self.item_id.rsplit(".", 1)[0] + "_copy.jpg"


def plan_images(config: DemoConfig) -> list[ImagePlan]:
    rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=(STREAM_PLAN, STREAM_IMAGES)))
    drafts = [_Draft(CLASSES[n % len(CLASSES)]) for n in range(config.images)]
    for draft in drafts:
        draft.hour = str(rng.choice(HOURS, p=HOUR_SHARES[draft.scene]))
        draft.weather = str(rng.choice(WEATHERS, p=WEATHER_SHARES))
    # Concepts with the most demands first; an hour or a weather that one needs is not changed by the next.
    for name in sorted(CONCEPTS, key=lambda n: (not CONCEPTS[n].hours, not CONCEPTS[n].weathers, n)):
        concept = CONCEPTS[name]
        _hand_out(rng, drafts, name, name, max(1, round(concept.share * config.images)))
        for decoy in concept.decoys:
            _hand_out(rng, drafts, name, decoy, round(concept.share * DECOYS / len(concept.decoys) * config.images))
    copied = set(rng.choice(config.images, size=min(config.copies, config.images), replace=False).tolist())
    plans = []
    for n, draft in enumerate(drafts):
        tones = str(rng.choice(["colour", "grey", "alpha"], p=[0.94, 0.03, 0.03]))
        suffix = "png" if tones == "alpha" or rng.random() < 0.03 else "jpg"
        plans.append(
            ImagePlan(
                item_id=f"images/{draft.scene}_{n // len(CLASSES):03d}.{suffix}",
                stream=(STREAM_IMAGES, n),
                scene=draft.scene,
                hour=draft.hour,
                weather=draft.weather,
                concepts=tuple(draft.concepts),
                decoys=tuple(draft.decoys),
                shape=SHAPES[int(rng.integers(len(SHAPES)))],
                tones=tones,
                quality=int(rng.integers(72, 94)),
                copied=n in copied,
            )
        )
    return plans


@dataclass
class _Draft:
    """An image's plan while props are dealt out; `settled` once a prop has fixed its hour or weather."""

    scene: str
    hour: str = ""
    weather: str = ""
    concepts: list[str] = field(default_factory=list)
    decoys: list[str] = field(default_factory=list)
    settled: bool = False

    def may_hold(self, name: str, word: str) -> bool:
        """Whether there is room for `word`, which is the concept `name` itself or one of its look-alikes."""
        taken = len(self.concepts) + len(self.decoys) >= MOST_PROPS or {name, word} & {*self.concepts, *self.decoys}
        return not taken and not (self.settled and CONCEPTS[name].picky)


def _hand_out(rng: np.random.Generator, drafts: list[_Draft], name: str, word: str, count: int) -> None:
    """Put `word`, the concept `name` or a look-alike of it, into `count` of its scenes that still have room."""
    concept = CONCEPTS[name]
    weight = np.asarray([concept.scenes.get(d.scene, 0.0) * d.may_hold(name, word) for d in drafts])
    count = min(count, int(np.count_nonzero(weight)))
    if count == 0:
        return
    for n in rng.choice(len(drafts), size=count, replace=False, p=weight / weight.sum()).tolist():
        draft = drafts[n]
        (draft.concepts if word == name else draft.decoys).append(word)
        if concept.hours:
            draft.hour = str(rng.choice(concept.hours))
        if concept.weathers:
            draft.weather = str(rng.choice(concept.weathers))
        draft.settled |= concept.picky


@dataclass(frozen=True)
class ClipPlan:
    """`event` is empty for a clip in which none of the events happens; `sound` is None for a silent one."""

    item_id: str
    stream: tuple[int, ...]
    event: str
    scene: str
    action: str
    sound: str | None
    hour: str
    weather: str
    seconds: float


def plan_clips(config: DemoConfig) -> list[ClipPlan]:
    rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=(STREAM_PLAN, STREAM_CLIPS)))
    each = max(1, round(EVENT_SHARE * config.clips))
    events = [event for event in EVENTS for _ in range(each)]
    events += [""] * (config.clips - len(events))
    rng.shuffle(events)
    silent = set(rng.choice(config.clips, size=max(1, round(SILENT_SHARE * config.clips)), replace=False).tolist())
    plans = []
    for n, event in enumerate(events):
        recipe = EVENTS[event] if event else BACKGROUND[int(rng.integers(len(BACKGROUND)))]
        weight = np.asarray(list(recipe.scenes.values()))
        plans.append(
            ClipPlan(
                item_id=f"clips/clip_{n:03d}.mp4",
                stream=(STREAM_CLIPS, n),
                event=event,
                scene=str(rng.choice(list(recipe.scenes), p=weight / weight.sum())),
                action=str(rng.choice(recipe.actions)),
                sound=None if n in silent else str(rng.choice(recipe.sounds)),
                hour=str(rng.choice(recipe.hours)),
                weather=str(rng.choice(["clear", "clear", "cloudy", "overcast", "fog"])),
                seconds=float(rng.integers(2 * FPS, 4 * FPS + 1)) / FPS,  # 2 to 4, ending on a whole frame
            )
        )
    return plans
