"""The systems by name. A system is a module of this package, imported when it is asked for: most are slow to import."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Protocol

from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.report import Section
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs, Outcome
from mediarank.types import ConfigError, FeatureMatrix


class System(Protocol):
    """What a system's module offers."""

    Config: type[Any]

    def run(self, inputs: Inputs, config: Any) -> Outcome:
        """Fit, and rank for the test queries. Raises `NotApplicable` if the collection lacks what that takes."""

    def measure(self, scores: Mapping[str, FeatureMatrix], labels: Labels, config: EvaluationConfig) -> Measured:
        """How well each method ranks."""

    def section(
        self,
        scores: Mapping[str, FeatureMatrix],
        measured: Measured,
        labels: Labels,
        thumbnail: Any,
        results: int,
        facts: Mapping[str, Any],
    ) -> Section:
        """The system's part of the report."""


SYSTEMS: Final[Mapping[str, str]] = {
    "concepts": "mediarank.systems.concepts",
    "events": "mediarank.systems.events",
    "retrieval": "mediarank.systems.retrieval",
    "attributes": "mediarank.systems.attributes",
    "annotation": "mediarank.systems.annotation",
}


def system(name: str) -> System:
    if name not in SYSTEMS:
        raise ConfigError(f"There is no system {name!r}; there are {', '.join(SYSTEMS)}.")
    return import_module(SYSTEMS[name])
