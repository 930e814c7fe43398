"""The systems by name. A system is two modules of this package: one that fits and ranks, and one that reports.

They are imported when they are asked for. Reporting does without the learners, most of which are slow to import.
"""

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


class Reporting(Protocol):
    """What the module that reports on a system offers."""

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


SYSTEMS: Final = ("concepts", "events", "retrieval", "attributes", "annotation")


def system(name: str) -> System:
    return import_module(f"mediarank.systems.{_known(name)}.fit")


def reporting(name: str) -> Reporting:
    return import_module(f"mediarank.systems.{_known(name)}.report")


def _known(name: str) -> str:
    if name not in SYSTEMS:
        raise ConfigError(f"There is no system {name!r}; there are {', '.join(SYSTEMS)}.")
    return name
