"""The systems by name. A system is one folder of this package, and all folders have the same anatomy.

`config.py` holds `Config`, `fit.py` `fit`, `model.py` `Model`, `report.py` `measure`, `section` and `answer`, and
`wording.py` the methods in a user's words. Each is imported when first used: reporting and opening a model do not need
the learners, most of which are slow to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, Final, Protocol

from mediarank.evaluation.answers import Answer
from mediarank.evaluation.measured import EvaluationConfig, Measured
from mediarank.evaluation.report import Section
from mediarank.evaluation.wording import Wording
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, Needs, RankingModel
from mediarank.systems.results import SystemResult
from mediarank.types import ConfigError

SYSTEMS: Final = ("concepts", "events", "retrieval", "attributes", "annotation")


class Fit(Protocol):
    def __call__(self, inputs: Inputs, config: Any) -> Fitted:
        """Fit, and rank the test items. Raises `NotApplicable` if the collection lacks what is needed."""


class Reporting(Protocol):
    """What `report.py` defines."""

    def measure(self, scores: Mapping[str, Any], labels: Labels, config: EvaluationConfig) -> Measured:
        """How well each method ranks.

        scores : method -> test items × names
        """

    def section(self, result: SystemResult, thumbnail: Any, depth: int) -> Section:
        """The system's part of the report, with `depth` pictures per ranked row."""

    def answer(self, result: SystemResult) -> Answer:
        """What can be found with it, and how well, for the top of the page."""


class Reads(Protocol):
    """What a `Config` may define to say what its system reads; without it, its `features` and `base_models` do."""

    def reads(self) -> Needs:
        """The feature types and base models that `fit` opens with this configuration."""


def config_of(name: str) -> type[Any]:
    found: type[Any] = _part(name, "config").Config
    return found


def reads(config: Any, features: Sequence[str], base_models: Sequence[str]) -> Needs:
    """What a system opens when it is fitted: dvc.yaml lists exactly this, and `Inputs` holds exactly this.

    A field `features` or `base_models` that is left empty means all that params.yaml has, which are given here. The
    vectors that base models score are read as well: the fitted model ranks by them.
    """
    if hasattr(config, "reads"):
        own: Reads = config
        needs = own.reads()
    else:
        needs = Needs(tuple(getattr(config, "features", ())), tuple(getattr(config, "base_models", ())))
    empty = {field.name for field in fields(config) if not getattr(config, field.name)}
    models = tuple(base_models) if "base_models" in empty else needs.base_models
    types = tuple(features) if "features" in empty else needs.features
    return Needs(tuple(dict.fromkeys((*types, *models))), models)


def fit_of(name: str) -> Fit:
    found: Fit = _part(name, "fit").fit
    return found


def model_of(name: str) -> type[RankingModel]:
    found: type[RankingModel] = _part(name, "model").Model
    return found


def reporting(name: str) -> Reporting:
    found: Reporting = _part(name, "report")
    return found


def wording(name: str) -> Wording:
    """The methods of a system in a user's words."""
    found: Wording = _part(name, "wording").METHODS
    return found


def _part(name: str, part: str) -> Any:
    if name not in SYSTEMS:
        raise ConfigError(f"There is no system {name!r}; choose one of: {', '.join(SYSTEMS)}.")
    return import_module(f"mediarank.systems.{name}.{part}")
