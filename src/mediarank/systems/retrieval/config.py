"""Settings of `retrieval`, from params.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from mediarank.learners.pairwise.phi_rankers import RANKERS
from mediarank.systems.model import Needs
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS
from mediarank.types import ConfigError

Count = Annotated[int, Field(gt=0)]
FEWEST: Final = 100
"""Test queries that are asked however large the collection is."""


@dataclass(frozen=True)
class Config:
    """How similarity is learned.

    features : the feature types that φ compares; each gives four similarities
    methods : rankers to fit, see `learners/pairwise/phi_rankers.py` and `learned_methods.py`; `uni_con` is always
        among them, and so is `unlabelled` where that is set
    class_scores : feature types from which class probabilities are learned, for the methods that compare them; by
        default those of `unlabelled`, or else all
    whitened : feature types whose vectors are also compared with the differences within classes shrunk; by default
        those of `unlabelled`; the cost grows with the cube of their length
    unlabelled : feature types that count, all alike, where there are no classes to learn from; by default all
        (types of these three that are not among `features` are left out)
    serve : the method that answers; by default the one that validated best
    new_classes : serve only what also suits queries of classes that were never seen; set it to false where every
        query will be of a known class
    class_items : items that class probabilities are learned from, at most; their cost grows with its cube
    scaling_pairs : training pairs that scale φ
    instances : triplets to learn from
    negatives : irrelevant items drawn per relevant one
    validation_queries, validation_items : queries that choose parameters and the served method, and the items that
        they are asked among, at most; φ of all these pairs is held in memory
    test_queries, test_pairs : test items that are asked in the evaluation, and pairs of such a query and an item that
        are compared, at most; so above 40,000 items there are fewer queries, but not fewer than 100
    """

    features: tuple[str, ...] = ("lab_thirds", "gist", "hog", "lbp")
    methods: tuple[str, ...] = ("best_fea", "uni_con", "ranksvm", "opr", "opar1", "opar2", "ogdr", "arow", "scw")
    serve: str | None = None
    class_scores: tuple[str, ...] = ()
    whitened: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    new_classes: bool = True
    class_items: Count = 4000
    scaling_pairs: Count = 20_000
    instances: Count = 50_000
    negatives: Count = 3
    validation_queries: Count = 100
    validation_items: Count = 20_000
    test_queries: Count = 500
    test_pairs: Count = 20_000_000
    seed: int = 7
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        known = (*RANKERS, *LEARNED_METHODS)
        unknown = [method for method in self.methods if method not in known]
        if unknown or not self.methods:
            raise ConfigError(
                f"systems.retrieval.methods: {', '.join(unknown) or 'none'}; choose of {', '.join(known)}."
            )
        if not self.features:
            raise ConfigError("systems.retrieval.features: name at least one feature type.")
        for setting in (
            "class_scores",
            "whitened",
            "unlabelled",
        ):  # a type that is taken out of `features` counts nowhere
            object.__setattr__(self, setting, tuple(n for n in getattr(self, setting) if n in self.features))

    def queries_among(self, items: int) -> int:
        """How many test queries are asked among so many items.

        >>> [Config().queries_among(items) for items in (10_000, 100_000, 1_000_000)]
        [500, 200, 100]
        """
        return min(self.test_queries, max(FEWEST, self.test_pairs // max(items, 1)))

    @property
    def scored_types(self) -> tuple[str, ...]:
        """The feature types from which class probabilities are learned."""
        return self.class_scores or self.unlabelled or self.features

    @property
    def whitened_types(self) -> tuple[str, ...]:
        """The feature types whose vectors are whitened."""
        return self.whitened or self.unlabelled

    def reads(self) -> Needs:
        """The feature types that the stage reads."""
        return Needs(self.features)
