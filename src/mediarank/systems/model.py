"""The one object that a fitted system leaves behind, and what surrounds it.

First what a model needs in order to be opened (`Needs`, `Parts`), then the contract that all five systems keep
(`RankingModel`), then the rule that decides which of the fitted methods users get (`choose_served`). Evaluation,
promotion, serving, ingest, the command line and the explorer all open a model with `from_arrays` and ask it with
`rank` or `ask`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mediarank.evaluation.rankings import Rankings
from mediarank.types import ConfigError, Doubles, FeatureMatrix, shared_items

if TYPE_CHECKING:  # slow to import, and most models do not need it
    from mediarank.base_models.pool import SVMPool

Arrays = dict[str, np.ndarray[Any, Any]]
Orders = Literal["items", "names"]
Described = Mapping[str, FeatureMatrix]
"""Feature type -> the vectors of the items that are asked about; one row per item, or per frame of a clip."""


@dataclass(frozen=True)
class Needs:
    """What a model uses.

    features : feature types that an item must be described by
    base_models : feature types whose concept models it uses
    collection : feature types of which it needs the collection's own vectors, for neighbours or candidates
    """

    features: tuple[str, ...]
    base_models: tuple[str, ...] = ()
    collection: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Parts:
    """What a model is opened with, beside its own arrays; both mappings may open their values when first asked.

    matrices : feature type -> the collection's vectors
    pools : feature type -> its concept models
    """

    matrices: Mapping[str, FeatureMatrix] = field(default_factory=dict)
    pools: Mapping[str, SVMPool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answer:
    """How items score for one name, and what that cost.

    scores : (items,) higher is better
    evaluations, possible : base models evaluated on items, and how many there would be without skipping
    """

    scores: Doubles
    evaluations: int
    possible: int


class RankingModel(ABC):
    """A fitted system. Subclasses are called `Model` and live in `systems/<name>/model.py`.

    methods : the fitted methods, in the order of params.yaml; each can be asked
    validation : method -> the result on validation items that decides which is served, higher is better
    served : the method that answers if none is named (see `choose_served`)
    names : what items are scored for: concepts, events, words, attributes, or the items of the collection
    orders : what a ranking puts in order: the items of one name, or the names of one item
    needs : what it uses
    """

    orders: ClassVar[Orders] = "items"
    methods: tuple[str, ...]
    validation: Mapping[str, float]
    served: str
    names: tuple[str, ...]
    needs: Needs

    @abstractmethod
    def rank(
        self, described: Described, items: Sequence[str], names: Sequence[str] | None = None, method: str | None = None
    ) -> Doubles:
        """Scores (items, names), higher is better. Asking for one name costs one name.

        items : some of those that `able` gives
        names : all by default
        method : the served one by default
        """

    def ask(self, described: Described, items: Sequence[str], name: str, method: str | None = None) -> Answer:
        """Scores for one name with the work that it took; models that can skip work override it."""
        scores = self.rank(described, items, [name], method)[:, 0]
        return Answer(scores, len(items), len(items))

    def able(self, described: Described) -> list[str]:
        """The items, sorted, that have all features needed to be asked about."""
        return shared_items(described, self.needs.features)

    @abstractmethod
    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays for npz and facts for JSON; `methods`, `validation` and `served` are among the facts."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any], parts: Parts) -> RankingModel:
        """The model again. Arrays may be read when first asked, so take only what is needed."""

    @classmethod
    @abstractmethod
    def needs_of(cls, facts: Mapping[str, Any]) -> Needs:
        """What a model with these facts needs, without opening it."""

    def method(self, name: str | None) -> str:
        """The method to use: the served one, or the one named, which must have been fitted."""
        if name is None:
            return self.served
        if name not in self.methods:
            raise ConfigError(f"There is no fitted method {name!r}; choose one of: {', '.join(self.methods)}.")
        return name


@dataclass(frozen=True)
class Fitted:
    """What a system's `fit` returns.

    scores : method -> test items × names, as the model's `rank` gives them, or the best of them
    figures : tables of the paper's figures, as columns for JSON
    """

    model: RankingModel
    scores: Mapping[str, FeatureMatrix | Rankings]
    figures: Mapping[str, Any] = field(default_factory=dict)


def choose_served(validation: Mapping[str, float], pinned: str | None = None) -> str:
    """The pinned method, or the one with the best validation result; among equals the first.

    >>> choose_served({"uni_con": 0.5, "arow": 0.6, "scw": 0.6})
    'arow'
    >>> choose_served({"uni_con": 0.5, "arow": 0.6}, pinned="uni_con")
    'uni_con'
    """
    if not validation:
        raise ConfigError("No method was fitted, so none can be served; name one under `methods` in params.yaml.")
    if pinned is not None:
        if pinned not in validation:
            raise ConfigError(f"`serve` names {pinned!r}, which is not among the methods: {', '.join(validation)}.")
        return pinned
    return max(validation, key=lambda name: (validation[name] == validation[name], validation[name]))
