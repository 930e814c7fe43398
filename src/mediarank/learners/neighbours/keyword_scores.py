"""Rules by which the labelled images that are like a new one are heard, and which numbers of each to choose from.

A `Listening` is a rule with its numbers: it turns similarities into scores of words. `count` (eq 6 of paper 001) and
`transfer` (JEC) need nothing else. `vote`, `two_pass` and `ridge` give raw scores that are comparable between images
but not between words, so each word is put on a scale of its own, to some power: its frequency, or its lead, which is
how much more images get that have the word. `sigmoid` is TagProp's: votes through a curve a word. What a rule learns,
it learns from training images asked without themselves. `CANDIDATES` are tried by cross-validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from mediarank.learners.kernels.kernel_ridge import fit_ridge
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_votes import (
    Neighbours,
    count_relevance,
    find_neighbours,
    transferred,
    voted,
)
from mediarank.learners.neighbours.tagprop import TagProp
from mediarank.learners.neighbours.two_pass import two_pass_relevance
from mediarank.similarity.kernels import linear
from mediarank.types import ConfigError, Floats

RULES: Final = ("count", "transfer", "vote", "two_pass", "ridge", "sigmoid")
DEEPEST: Final = 400
"""Neighbours that any rule asks, at most."""
PENALTY: Final = 0.1
"""λ of the ridge, where an image's kernel with itself is 1."""
SMALLEST_LEAD: Final = 0.1
"""Of the median lead: words that their own images do not bring up would otherwise be blown up beyond all others."""


def _none() -> Floats:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class Listening:
    """
    k : nearest images that are asked; per_word : nearest images of each word, for `two_pass`
    sharpness : how fast an image's weight falls off with similarity
    scale, power : raw scores are divided by so high a power of the word's frequency or lead
    means, units (words,) : what is taken off a word's raw score, and what it is measured in
    slopes, offsets (words,) : for `sigmoid`; coefficients (images, words) : for `ridge`
    """

    rule: str
    k: int = DEEPEST
    per_word: int = 1
    sharpness: float = 1.0
    scale: Literal["frequency", "lead"] = "lead"
    power: float = 0.0
    means: Floats = field(default_factory=_none)
    units: Floats = field(default_factory=_none)
    slopes: Floats = field(default_factory=_none)
    offsets: Floats = field(default_factory=_none)
    coefficients: Floats = field(default_factory=_none)

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ConfigError(f"There is no rule {self.rule!r} to hear neighbours by; there are {', '.join(RULES)}.")

    def hear(self, similarity: Floats, keywords: Keywords, neighbours: Neighbours | None = None) -> Floats:
        """(queries, words) scores. neighbours : at least k of them, where they are known already"""
        return self.scaled(self.raw(similarity, keywords, neighbours))

    def raw(self, similarity: Floats, keywords: Keywords, neighbours: Neighbours | None = None) -> Floats:
        """What is heard, before words are put on scales of their own."""
        if self.rule == "ridge":
            return np.asarray(linear(np.exp(self.sharpness * similarity), self.coefficients.T), dtype=np.float32)
        if self.rule == "two_pass":
            votes = two_pass_relevance(similarity, keywords, self.per_word, self.sharpness)
            return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-12), dtype=np.float32)
        found = neighbours or find_neighbours(similarity, self.k)
        if self.rule == "count":
            return count_relevance(found, keywords, self.k)
        if self.rule == "transfer":
            return transferred(found, keywords, self.k)
        return voted(found, keywords, self.k, self.sharpness)

    def scaled(self, raw: Floats) -> Floats:
        if self.rule in ("count", "transfer"):
            return raw
        if self.rule == "sigmoid":
            return np.asarray(expit(self.slopes * raw + self.offsets), dtype=np.float32)
        return np.asarray((raw - self.means) / self.units**self.power, dtype=np.float32)

    def what_is_heard(self) -> tuple[Any, ...]:
        """The numbers that raw scores depend on."""
        return self.rule, self.k, self.per_word, self.sharpness

    def numbers(self) -> dict[str, Any]:
        """Which of its numbers a model's facts keep."""
        names = {
            "count": ("k",),
            "transfer": ("k",),
            "vote": ("k", "sharpness", "scale", "power"),
            "two_pass": ("per_word", "sharpness", "scale", "power"),
            "ridge": ("sharpness", "scale", "power"),
            "sigmoid": ("k", "sharpness"),
        }
        return {name: getattr(self, name) for name in names[self.rule]}

    def arrays(self) -> dict[str, Floats]:
        """Which of its arrays a model keeps."""
        names = {"sigmoid": ("slopes", "offsets"), "ridge": ("means", "units", "coefficients")}
        learned = names.get(self.rule, ("means", "units") if self.rule in ("vote", "two_pass") else ())
        return {name: getattr(self, name) for name in learned}


SCALES: Final[Sequence[tuple[Literal["frequency", "lead"], float]]] = (
    *(("frequency", power) for power in (0.25, 0.5, 0.75)),
    *(("lead", power) for power in (0.25, 0.5, 0.625, 0.75, 0.875, 1.0)),
)
CANDIDATES: Final[Mapping[str, Sequence[Listening]]] = {
    "count": [Listening("count", k) for k in (5, 10, 20, 30, 50, 100, 200, 400)],
    "transfer": [Listening("transfer", k) for k in (2, 5, 10, 20)],
    "vote": [
        Listening("vote", k, sharpness=sharpness, scale=scale, power=power)
        for k, sharpness, (scale, power) in product((20, 50, 200, 400), (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), SCALES)
    ],
    "two_pass": [
        Listening("two_pass", per_word=per_word, sharpness=sharpness, scale=scale, power=power)
        for per_word, sharpness, (scale, power) in product((1, 3), (2.0, 4.0), (("lead", 0.0), *SCALES))
    ],
    "ridge": [
        Listening("ridge", sharpness=sharpness, scale=scale, power=power)
        for sharpness, (scale, power) in product((0.125, 0.25), SCALES)
    ],
    "sigmoid": [Listening("sigmoid", 100)],
}
"""Settings of each rule; their sharpness is relative to the contrast of the similarities."""


def contrast(similarity: Floats, depth: int = 50) -> float:
    """How much more similar the nearest image is than the 50th, on average over queries; 1 where there is no more.

    Where there are fewer images it is the last; those at −inf are none.
    """
    scores = find_neighbours(similarity, depth).scores.astype(np.float64)
    last = np.where(np.isfinite(scores), scores, np.inf).min(axis=1)
    gap = float(np.mean(scores[:, 0] - last))
    return gap if np.isfinite(gap) and gap > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Training images asked without themselves: what rules learn from.

    similarity (queries, images) : −inf from an image to itself; keywords : of the images
    asked (queries,) : positions of the queries among the images; scale : the contrast of the similarities
    """

    similarity: Floats
    keywords: Keywords
    asked: npt.NDArray[np.intp]
    neighbours: Neighbours
    scale: float

    @classmethod
    def of(cls, similarity: Floats, keywords: Keywords, asked: npt.NDArray[np.intp]) -> Rehearsal:
        neighbours = find_neighbours(similarity, min(DEEPEST, similarity.shape[1] - 1))
        return cls(similarity, keywords, asked, neighbours, contrast(similarity))

    def learn(self, candidates: Sequence[Listening], iterations: int = 60) -> list[Listening]:
        """The candidates with all that they need to be heard; what differs in scale alone is computed once.

        iterations : of the fitting of sigmoids
        """
        heard: dict[tuple[Any, ...], tuple[Listening, Floats]] = {}
        learned = []
        for candidate in candidates:
            if candidate.rule in ("count", "transfer"):
                learned.append(candidate)
            elif candidate.rule == "sigmoid":
                learned.append(self._with_sigmoids(candidate, iterations))
            else:
                key = candidate.what_is_heard()
                if key not in heard:
                    heard[key] = self._heard(candidate)
                listening, raw = heard[key]
                learned.append(self._on_scale(replace(listening, scale=candidate.scale, power=candidate.power), raw))
        return learned

    def _heard(self, candidate: Listening) -> tuple[Listening, Floats]:
        """The candidate with absolute sharpness, and its raw scores of the queries, themselves left out."""
        absolute = replace(candidate, sharpness=candidate.sharpness / self.scale)
        if candidate.rule == "ridge":
            own = self.keywords.rows[self.asked]
            kernel = np.exp(absolute.sharpness * self.similarity[:, self.asked])
            np.fill_diagonal(kernel, 1.0)
            found, raw = fit_ridge(kernel, own, PENALTY)
            coefficients = np.zeros(self.keywords.rows.shape, np.float32)
            coefficients[self.asked] = found
            return replace(absolute, coefficients=coefficients), raw
        return absolute, absolute.raw(self.similarity, self.keywords, self.neighbours)

    def _on_scale(self, listening: Listening, raw: Floats) -> Listening:
        if listening.scale == "frequency":
            units = np.maximum(self.keywords.frequencies, 1).astype(np.float32)
            return replace(listening, means=np.zeros_like(units), units=units)
        own = self.keywords.rows[self.asked]
        means = raw.mean(axis=0, dtype=np.float64)
        having = (raw * own).sum(axis=0, dtype=np.float64) / np.maximum(own.sum(axis=0), 1)
        leads = having - means
        known = own.any(axis=0)
        floor = SMALLEST_LEAD * float(np.median(leads[known])) if known.any() else 0.0
        leads = np.maximum(leads, max(floor, 1e-9))
        return replace(listening, means=means.astype(np.float32), units=leads.astype(np.float32))

    def _with_sigmoids(self, candidate: Listening, iterations: int) -> Listening:
        """Curves and sharpness by maximum likelihood."""
        places, scores = self.neighbours.places[:, : candidate.k], self.neighbours.scores[:, : candidate.k]
        gaps: npt.NDArray[Any] = (scores[:, :1] - scores) / np.float32(self.scale)
        own = self.keywords.restricted_to(self.asked)
        model = TagProp(iterations).fit(places, gaps[:, :, None], self.keywords, own)
        return replace(
            candidate,
            sharpness=float(model.weights_[0]) / self.scale,
            slopes=model.slopes_.astype(np.float32),
            offsets=model.offsets_.astype(np.float32),
        )
