"""`events`: in which clips does *landing a fish* happen? (paper 002)

Four base classifiers look at clips: motion, objects, scene and sound. They are trained on the role `base`; fusions
learn from the role `rank`, which the classifiers have not seen, and from what the classifiers say of their own training
clips. Where classifiers may be trained again, plain stacking and our own fusion use cross-validated scores of both
roles and classifiers refitted on both. Around it: `events_model` (what was fitted, and ranking with it),
`events_protocol` (section 3 of the paper) and `events_report` (how well it does, and how that is shown).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field
from threadpoolctl import threadpool_limits

from mediarank.base_models.clip_rows import ClipRows
from mediarank.base_models.clip_svm import FEWEST, ClipSVMConfig, Trained, train
from mediarank.base_models.object_bank import object_bank
from mediarank.base_models.svm import Kernel
from mediarank.learners.fusion.fusion_methods import FUSIONS, fusion
from mediarank.systems.contract import Inputs, Outcome
from mediarank.systems.events.model import FROZEN, REFITTED, EventsModel
from mediarank.systems.events.protocol import RATIOS, EventScores, figure2, figure5, run_protocol
from mediarank.systems.events.report import shown_events
from mediarank.types import ConfigError, Doubles, FeatureMatrix, NotApplicable

__all__ = ["Config", "EventsConfig", "Parts", "fit", "prepare", "run"]

Marks = npt.NDArray[np.bool_]
Classifier = Literal["motion", "objects", "scene", "sound"]
KERNELS: Final[Mapping[str, Kernel]] = {
    "motion": "intersection",
    "objects": "intersection",
    "scene": "linear",
    "sound": "intersection",
}


@dataclass(frozen=True)
class EventsConfig:
    """How events are learned.

    classifiers : which base classifiers to train
    motion, scene, sound : the feature types that they look at; a type that keeps its frames is judged frame by frame
    base_models : feature types whose concept models look for objects; types that keep their frames serve best
    methods : fusions to fit, of `learners/fusion/fusion_methods.py`
    svm : how base classifiers are trained
    refit : out-of-fold fusions get classifiers that are trained on `rank` as well
    repeats, ratios : of the paper's experiment, for the report; no repeats leave it out
    """

    classifiers: tuple[Classifier, ...] = ("motion", "objects", "scene", "sound")
    motion: str = "motion"
    scene: str = "gist_frames"
    sound: str = "sound"
    base_models: tuple[str, ...] = ("gist_frames", "hog_frames")
    methods: tuple[str, ...] = tuple(FUSIONS)
    svm: ClipSVMConfig = field(default_factory=ClipSVMConfig)
    refit: bool = True
    repeats: Annotated[int, Field(ge=0)] = 100
    ratios: tuple[float, ...] = RATIOS
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in FUSIONS]
        if unknown or not self.methods:
            raise ConfigError(
                f"systems.events.methods: {', '.join(unknown) or 'none'}; choose of {', '.join(FUSIONS)}."
            )
        if not self.classifiers:
            raise ConfigError(f"systems.events.classifiers: none; choose of {', '.join(KERNELS)}.")
        if not self.ratios or min(self.ratios) <= 0:
            raise ConfigError("systems.events.ratios must hold at least one number, all above 0.")

    @property
    def looks_at(self) -> dict[str, str]:
        """classifier -> the feature type that it looks at directly; `objects` looks through concept models"""
        types = {"motion": self.motion, "scene": self.scene, "sound": self.sound}
        return {name: types[name] for name in self.classifiers if name in types}

    @property
    def features(self) -> tuple[str, ...]:
        """The feature types that are looked at directly."""
        return tuple(dict.fromkeys(self.looks_at.values()))


Config = EventsConfig


@dataclass(frozen=True)
class Parts:
    """Clips by role, what classifiers look at, who shows what, and who belongs together."""

    base: tuple[str, ...]
    rank: tuple[str, ...]
    test: tuple[str, ...]
    matrices: Mapping[str, FeatureMatrix]
    shown: Mapping[str, frozenset[str]]
    groups: Mapping[str, str]

    def labels(self, clips: Sequence[str]) -> dict[str, Marks]:
        """event -> which of the clips show it"""
        return {event: np.array([clip in of_event for clip in clips], bool) for event, of_event in self.shown.items()}

    def marks(self, clips: Sequence[str]) -> Marks:
        """(clips, events)"""
        return np.stack(list(self.labels(clips).values()), axis=1)


def run(inputs: Inputs, config: EventsConfig) -> Outcome:
    """Classifiers on `base`, fusions on `rank`; every `test` clip is ranked for every event."""
    with threadpool_limits(1, user_api="blas"):  # the same digits on any number of cores
        parts = prepare(inputs, config)
        model, scores = fit(parts, config)
        arrays, facts = model.to_arrays()
        figures = _figures(scores, parts, config)
        facts |= {"looks_at": config.looks_at, "base_models": list(config.base_models), "figures": figures}
        return Outcome(arrays, facts, model.rank(parts.matrices, parts.test))


def prepare(inputs: Inputs, config: EventsConfig) -> Parts:
    """Who may be learned from and what there is to look at; what is missing is left out with a warning."""
    clips = sorted(set(inputs.labels["events"]["clip"]))
    base, rank, test = (tuple(sorted(set(clips).intersection(inputs.roles.items(r)))) for r in ("base", "rank", "test"))
    for role, members in (("base", base), ("rank", rank), ("test", test)):
        if not members:
            raise NotApplicable(f"events needs clips with event labels in the role {role}; there are none.")
    shown = shown_events(inputs.labels)
    kept = {event: members for event, members in shown.items() if _learnable(event, members, base)}
    if not kept:
        raise NotApplicable(f"No event has {FEWEST} positives and {FEWEST} negatives among the clips of role base.")
    matrices: dict[str, FeatureMatrix] = {}
    for name in config.classifiers:
        matrix = _looked_at(name, inputs, config, clips)
        if len(matrix.names) and ClipRows.of(matrix, base).clips:
            matrices[name] = matrix
        else:
            warnings.warn(
                f"The base classifier {name!r} is left out: no clip of role base has its feature.", stacklevel=2
            )
    if not matrices:
        raise NotApplicable(
            "events has no base classifier: no clip of role base has motion, objects, a scene or sound."
        )
    groups = dict(zip(inputs.roles.table["item_id"], inputs.roles.table["group_id"], strict=True))
    return Parts(base, rank, test, matrices, kept, groups)


def fit(parts: Parts, config: EventsConfig) -> tuple[EventsModel, dict[str, EventScores]]:
    """The model, and by event what the frozen classifiers say of every clip."""
    trained = {FROZEN: _train(parts, parts.base, config)}
    marks = {role: parts.marks(clips) for role, clips in (("base", parts.base), ("rank", parts.rank))}
    unseen, test = (_probabilities(trained[FROZEN], parts, clips) for clips in (parts.rank, parts.test))
    held_in = _stacked([t.held_in for t in trained[FROZEN].values()])
    out_of_fold = _stacked([t.held_out for t in trained[FROZEN].values()])
    examples = {FROZEN: (held_in, out_of_fold, unseen)}
    if config.refit and any(fusion(method).source == "out_of_fold" for method in config.methods):
        trained[REFITTED] = _train(parts, parts.base + parts.rank, config)
        again, both = (_stacked([getattr(t, k) for t in trained[REFITTED].values()]) for k in ("held_in", "held_out"))
        examples[REFITTED] = (again[: len(parts.base)], both[: len(parts.base)], both[len(parts.base) :])
    uses, weights = {}, {}
    for method in config.methods:
        kind = fusion(method)
        uses[method] = REFITTED if REFITTED in trained and kind.source == "out_of_fold" else FROZEN
        held_in_of, out_of_fold_of, target = examples[uses[method]]
        source = kind.of(held_in_of, out_of_fold_of)
        learned = [
            kind.make().fit(source[:, e], marks["base"][:, e], target[:, e], marks["rank"][:, e])
            for e in range(len(parts.shown))
        ]
        weights[method] = np.stack([np.append(one.weights_, one.bias_) for one in learned])
    classifiers = {which: {name: t.classifier for name, t in found.items()} for which, found in trained.items()}
    tested = parts.marks(parts.test)
    scores = {
        event: EventScores(
            held_in[:, e], out_of_fold[:, e], marks["base"][:, e],
            unseen[:, e], marks["rank"][:, e], test[:, e], tested[:, e],
        )
        for e, event in enumerate(parts.shown)
    }  # fmt: skip
    return EventsModel(tuple(parts.shown), classifiers, uses, weights), scores


def _train(parts: Parts, clips: Sequence[str], config: EventsConfig) -> dict[str, Trained]:
    labels = parts.labels(clips)
    return {
        name: train(name, KERNELS[name], matrix, labels, clips, config.svm, parts.groups)
        for name, matrix in parts.matrices.items()
    }


def _probabilities(trained: Mapping[str, Trained], parts: Parts, clips: Sequence[str]) -> Doubles:
    return _stacked([t.classifier.probabilities(parts.matrices[name], clips) for name, t in trained.items()])


def _stacked(by_classifier: Sequence[Doubles]) -> Doubles:
    """(clips, events, classifiers)"""
    return np.stack(by_classifier, axis=2)


def _looked_at(name: Classifier, inputs: Inputs, config: EventsConfig, clips: Sequence[str]) -> FeatureMatrix:
    if name != "objects":
        return inputs.feature(config.looks_at[name])
    missing = [kind for kind in config.base_models if kind not in inputs.base_scores]
    if missing:
        raise ConfigError(f"systems.events.base_models names {missing[0]!r}, which is not listed under base_models.")
    return object_bank({kind: inputs.base_scores[kind] for kind in config.base_models}, clips)


def _learnable(event: str, members: frozenset[str], base: Sequence[str]) -> bool:
    positives = sum(clip in members for clip in base)
    if min(positives, len(base) - positives) >= FEWEST:
        return True
    warnings.warn(
        f"The event {event!r} is left out: {positives} of the {len(base)} clips of role base show it, and base "
        f"classifiers need {FEWEST} that do and {FEWEST} that don't.",
        stacklevel=2,
    )
    return False


def _figures(scores: Mapping[str, EventScores], parts: Parts, config: EventsConfig) -> dict[str, Any]:
    """The paper's figures 2, 4 and 5 on this collection, as columns; events without a test clip have none."""
    measurable = {event: found for event, found in scores.items() if found.test_y.any()}
    if not config.repeats or not measurable:
        return {}
    result = run_protocol(
        measurable, methods=config.methods, ratios=config.ratios, repeats=config.repeats, seed=config.seed
    )
    first = next(iter(measurable.values()))
    tables = {
        "figure2": figure2(first, tuple(parts.matrices)),
        "figure4": result.figure4(),
        "figure5": figure5(first, ratio=config.ratios[0], repeats=config.repeats, seed=config.seed),
    }
    return {"event": next(iter(measurable)), **{name: table.to_dict("list") for name, table in tables.items()}}
