"""The systems by name, each with the configuration it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

from mediarank.systems import retrieval
from mediarank.systems.retrieval import RetrievalConfig

SYSTEMS: Mapping[str, ModuleType] = {
    "retrieval": retrieval,
}
"""Each offers `run`, which fits and ranks, `measure`, and `section`, its part of the report."""


@dataclass(frozen=True)
class SystemsConfig:
    """One section a system."""

    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}
