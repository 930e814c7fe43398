"""Rules that turn similarities to labelled images into scores of words, and the settings of each to choose from.

A `KeywordRule` is a rule with its numbers. `count` (eq 6 of paper 001) and `transfer` (JEC) need nothing else. `vote`,
`two_pass` and `ridge` give raw scores that are comparable between images but not between words, so each word gets its
own scale: a power of its frequency, or of its lead (how much higher images with the word score). `sigmoid` is
TagProp's: votes through one curve per word. Rules learn from training images that are used as queries without their
words (`TrainingQueries`). Cross-validation tries the `CANDIDATES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from mediarank.base_models.kernel_ridge import fit_ridge
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
"""The most neighbours that any rule uses."""
SMALLEST_LEAD: Final = 0.1
"""Share of the median lead; without it, a word that its own images do not predict would outgrow all others."""


Columns = npt.NDArray[np.intp]


def _none() -> Floats:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class KeywordRule:
    """A rule with its numbers.

    k : nearest images that vote; per_word : nearest images of each word, for `two_pass`
    sharpness : how fast an image's weight falls off with similarity
    scale, power : raw scores are divided by the word's frequency or lead to this power
    penalty : λ of `ridge`, where an image's kernel with itself is 1
    means, units (words,) : what is subtracted from a word's raw score, and what it is divided by
    slopes, offsets (words,) : for `sigmoid`; coefficients (images, words) : for `ridge`
    """

    kind: str
    k: int = DEEPEST
    per_word: int = 1
    sharpness: float = 1.0
    scale: Literal["frequency", "lead"] = "lead"
    power: float = 0.0
    penalty: float = 0.1
    means: Floats = field(default_factory=_none)
    units: Floats = field(default_factory=_none)
    slopes: Floats = field(default_factory=_none)
    offsets: Floats = field(default_factory=_none)
    coefficients: Floats = field(default_factory=_none)

    def __post_init__(self) -> None:
        if self.kind not in RULES:
            raise ConfigError(f"There is no rule {self.kind!r} for scoring words; choose from {', '.join(RULES)}.")

    def scores(
        self,
        similarity: Floats,
        keywords: Keywords,
        neighbours: Neighbours | None = None,
        columns: Columns | None = None,
    ) -> Floats:
        """(queries, words) scores.

        neighbours : at least k, if already known
        columns : of some words only
        """
        return self.scaled(self.raw(similarity, keywords, neighbours, columns), columns)

    def raw(
        self,
        similarity: Floats,
        keywords: Keywords,
        neighbours: Neighbours | None = None,
        columns: Columns | None = None,
    ) -> Floats:
        """Scores before each word is put on its own scale."""
        if self.kind == "ridge":
            coefficients = self.coefficients if columns is None else self.coefficients[:, columns]
            kernel = np.exp(self.sharpness * similarity).astype(np.float64)  # sums of thousands of terms of both signs
            return linear(kernel, coefficients.T).astype(np.float32)
        if self.kind == "two_pass":
            votes = two_pass_relevance(similarity, keywords, self.per_word, self.sharpness)
            shares = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-12)
            return np.asarray(shares if columns is None else shares[:, columns], dtype=np.float32)
        found = neighbours or find_neighbours(similarity, self.k)
        if self.kind == "transfer":  # the first neighbour's other words matter too
            moved = transferred(found, keywords, self.k)
            return moved if columns is None else moved[:, columns]
        wanted = keywords if columns is None else keywords.of_words(columns)
        if self.kind == "count":
            return count_relevance(found, wanted, self.k)
        return voted(found, wanted, self.k, self.sharpness)

    def scaled(self, raw: Floats, columns: Columns | None = None) -> Floats:
        """Raw scores with each word on its own scale."""
        if self.kind in ("count", "transfer"):
            return raw
        some = slice(None) if columns is None else columns
        if self.kind == "sigmoid":
            return np.asarray(expit(self.slopes[some] * raw + self.offsets[some]), dtype=np.float32)
        return np.asarray((raw - self.means[some]) / self.units[some] ** self.power, dtype=np.float32)

    def raw_key(self) -> tuple[Any, ...]:
        """The numbers that raw scores depend on."""
        return self.kind, self.k, self.per_word, self.sharpness, self.penalty

    def numbers(self) -> dict[str, Any]:
        """The numbers that a model keeps among its facts."""
        names = {
            "count": ("k",),
            "transfer": ("k",),
            "vote": ("k", "sharpness", "scale", "power"),
            "two_pass": ("per_word", "sharpness", "scale", "power"),
            "ridge": ("sharpness", "penalty", "scale", "power"),
            "sigmoid": ("k", "sharpness"),
        }
        return {name: getattr(self, name) for name in names[self.kind]}

    def arrays(self) -> dict[str, Floats]:
        """The arrays that a model keeps."""
        names = {"sigmoid": ("slopes", "offsets"), "ridge": ("means", "units", "coefficients")}
        learned = names.get(self.kind, ("means", "units") if self.kind in ("vote", "two_pass") else ())
        return {name: getattr(self, name) for name in learned}


SCALES: Final[Sequence[tuple[Literal["frequency", "lead"], float]]] = (
    *(("frequency", power) for power in (0.25, 0.5, 0.75)),
    *(("lead", power) for power in (0.25, 0.5, 0.625, 0.75, 0.875, 1.0)),
)
UNSCALED: Final[tuple[Literal["frequency", "lead"], float]] = ("lead", 0.0)
CANDIDATES: Final[Mapping[str, Sequence[KeywordRule]]] = {
    "count": [KeywordRule("count", k) for k in (5, 10, 20, 30, 50, 100, 200, 400)],
    "transfer": [KeywordRule("transfer", k) for k in (2, 5, 10, 20)],
    "vote": [
        KeywordRule("vote", k, sharpness=sharpness, scale=scale, power=power)
        for k, sharpness, (scale, power) in product((20, 50, 200, 400), (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), SCALES)
    ],
    "two_pass": [
        KeywordRule("two_pass", per_word=per_word, sharpness=sharpness, scale=scale, power=power)
        for per_word, sharpness, (scale, power) in product((1, 3), (2.0, 4.0), (UNSCALED, *SCALES))
    ],
    "ridge": [
        KeywordRule("ridge", sharpness=sharpness, penalty=penalty, scale=scale, power=power)
        for sharpness, penalty, (scale, power) in product((0.25, 0.5), (0.003, 0.03, 0.3), (*SCALES, UNSCALED))
    ],
    "sigmoid": [KeywordRule("sigmoid", 100)],
}
"""Settings of each rule; their sharpness is relative to the contrast of the similarities."""


def contrast(similarity: Floats, depth: int = 50) -> float:
    """How much more similar the nearest image is than the 50th, on average over queries; 1 if all are equal.

    With fewer images the last one counts as the 50th; images at −inf are left out.
    """
    scores = find_neighbours(similarity, depth).scores.astype(np.float64)
    last = np.where(np.isfinite(scores), scores, np.inf).min(axis=1)
    gap = float(np.mean(scores[:, 0] - last))
    return gap if np.isfinite(gap) and gap > 0 else 1.0


@dataclass(frozen=True, eq=False)
class TrainingQueries:
    """Training images as queries, each without itself among its neighbours: what rules learn from.

    similarity (queries, images) : −inf from an image to itself; keywords : of the images
    asked (queries,) : positions of the queries among the images; scale : the contrast of the similarities
    """

    similarity: Floats
    keywords: Keywords
    asked: npt.NDArray[np.intp]
    neighbours: Neighbours
    scale: float

    @classmethod
    def of(cls, similarity: Floats, keywords: Keywords, asked: npt.NDArray[np.intp]) -> TrainingQueries:
        neighbours = find_neighbours(similarity, min(DEEPEST, similarity.shape[1] - 1))
        return cls(similarity, keywords, asked, neighbours, contrast(similarity))

    def learn(self, candidates: Sequence[KeywordRule], iterations: int = 60) -> list[KeywordRule]:
        """The candidates after learning; those that differ in scale only share their raw scores.

        iterations : of L-BFGS, for sigmoids
        """
        known: dict[tuple[Any, ...], tuple[KeywordRule, Floats]] = {}
        single = len({candidate.raw_key() for candidate in candidates}) > 1  # they are only compared
        learned = []
        for candidate in candidates:
            if candidate.kind in ("count", "transfer"):
                learned.append(candidate)
            elif candidate.kind == "sigmoid":
                learned.append(self._with_sigmoids(candidate, iterations))
            else:
                key = candidate.raw_key()
                if key not in known:
                    known[key] = self._raw(candidate, single)
                rule, raw = known[key]
                learned.append(self._on_scale(replace(rule, scale=candidate.scale, power=candidate.power), raw))
        return learned

    def _raw(self, candidate: KeywordRule, single: bool) -> tuple[KeywordRule, Floats]:
        """The candidate with absolute sharpness, and its raw scores of the queries."""
        absolute = replace(candidate, sharpness=candidate.sharpness / self.scale)
        if candidate.kind == "ridge":
            own = self.keywords.rows[self.asked]
            kernel = np.exp(absolute.sharpness * self.similarity[:, self.asked])
            np.fill_diagonal(kernel, 1.0)
            found, raw = fit_ridge(kernel, own, candidate.penalty, single=single)
            coefficients = np.zeros(self.keywords.rows.shape, np.float32)
            coefficients[self.asked] = found
            return replace(absolute, coefficients=coefficients), raw
        return absolute, absolute.raw(self.similarity, self.keywords, self.neighbours)

    def _on_scale(self, rule: KeywordRule, raw: Floats) -> KeywordRule:
        if rule.scale == "frequency":
            units = np.maximum(self.keywords.frequencies, 1).astype(np.float32)
            return replace(rule, means=np.zeros_like(units), units=units)
        own = self.keywords.rows[self.asked]
        means = raw.mean(axis=0, dtype=np.float64)
        having = (raw * own).sum(axis=0, dtype=np.float64) / np.maximum(own.sum(axis=0), 1)
        leads = having - means
        known = own.any(axis=0)
        floor = SMALLEST_LEAD * float(np.median(leads[known])) if known.any() else 0.0
        leads = np.maximum(leads, max(floor, 1e-9))
        return replace(rule, means=means.astype(np.float32), units=leads.astype(np.float32))

    def _with_sigmoids(self, candidate: KeywordRule, iterations: int) -> KeywordRule:
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
