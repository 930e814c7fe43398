"""The settings of `events`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.base_models.svm import Kernel
from mediarank.learners.fusion.fusion_methods import FUSIONS
from mediarank.types import ConfigError

Classifier = Literal["motion", "flow", "objects", "scene", "sound", "network"]
KERNELS: Final[Mapping[str, Kernel]] = {
    "motion": "intersection",
    "flow": "intersection",
    "objects": "intersection",
    "scene": "linear",
    "sound": "intersection",
    "network": "intersection",
}
KERNEL_FUSION: Final = "kernel_fusion"
"""Ours: one classifier on the weighted sum of all kernels; see `kernel_fusion.py`."""
CONSENSUS: Final = "consensus"
"""Ours: the weighted mean of the two methods of `AGREEING`; see `consensus.py`."""
AGREEING: Final = ("log_odds", KERNEL_FUSION)
METHODS: Final = (*FUSIONS, KERNEL_FUSION, CONSENSUS)
DEFAULT: Final = (
    "average", "meta_only", "naive", "equal_weights", "recycling", "out_of_fold",
    "average_log_odds", "recycling_log_odds", "log_odds", KERNEL_FUSION, CONSENSUS,
)  # fmt: skip
RATIOS: Final = (1 / 4, 1 / 8, 1 / 12, 1 / 16, 1 / 20)
"""Unseen clips per training clip in the paper's experiment."""


@dataclass(frozen=True)
class Config:
    """How events are learned.

    classifiers : which base classifiers to train; the paper's four by default, and `flow` and `network`
    motion, flow, scene, sound, network : the feature types that they use; a type that keeps its frames is judged frame
        by frame; for `network`, one without negative values, such as the probabilities of its classes
    base_models : feature types whose concept models look for objects, best those that keep their frames; an empty
        list means all types that have base models
    methods : fusions to fit, of `learners/fusion/fusion_methods.py`, `kernel_fusion`, and `consensus` of two of them
    serve : the method that answers, a fusion or one of the classifiers; by default chosen by validation
    svm : how base classifiers are trained
    role_clips : clips of each role but `test` that are used, at most, drawn by lot: kernels hold all pairs of them
    refit : out-of-fold fusions and `kernel_fusion` get classifiers that are trained on `rank` as well
    repeats, ratios : of the paper's experiment, for the report; 0 repeats leave it out
    """

    classifiers: tuple[Classifier, ...] = ("motion", "objects", "scene", "sound")
    motion: str = "motion"
    flow: str = "flow"
    scene: str = "gist_frames"
    sound: str = "sound"
    network: str = "network_classes"
    base_models: tuple[str, ...] = ()
    methods: tuple[str, ...] = DEFAULT
    serve: str | None = None
    svm: ClipSVMConfig = field(default_factory=ClipSVMConfig)
    role_clips: Annotated[int, Field(ge=2)] = 4000
    refit: bool = True
    repeats: Annotated[int, Field(ge=0)] = 100
    ratios: tuple[float, ...] = RATIOS
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown or not self.methods:
            raise ConfigError(
                f"systems.events.methods: {', '.join(unknown) or 'none'}; choose from {', '.join(METHODS)}."
            )
        missing = [method for method in AGREEING if method not in self.methods]
        if CONSENSUS in self.methods and missing:
            raise ConfigError(
                f"systems.events.methods: {CONSENSUS} needs {' and '.join(missing)}; add it, or remove both."
            )
        if not self.classifiers:
            raise ConfigError(f"systems.events.classifiers: none; choose from {', '.join(KERNELS)}.")
        if not self.ratios or min(self.ratios) <= 0:
            raise ConfigError("systems.events.ratios must hold at least one number, all above 0.")
        if self.serve is not None and self.serve not in (*self.methods, *self.classifiers):
            raise ConfigError(
                f"systems.events.serve: {self.serve!r} is not among the methods; choose from "
                f"{', '.join((*self.methods, *self.classifiers))}."
            )

    @property
    def looks_at(self) -> dict[str, str]:
        """classifier -> the feature type that it uses directly; `objects` uses concept models"""
        types: dict[str, str] = {name: getattr(self, name) for name in KERNELS if name != "objects"}
        return {name: types[name] for name in self.classifiers if name in types}

    @property
    def features(self) -> tuple[str, ...]:
        """The feature types that are used directly."""
        return tuple(dict.fromkeys(self.looks_at.values()))

    @property
    def fusions(self) -> tuple[str, ...]:
        """The methods that need nothing but scores."""
        return tuple(method for method in self.methods if method in FUSIONS)
