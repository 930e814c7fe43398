"""Stage `systems`: fit one system and let it rank."""

from __future__ import annotations

from typing import Any

from mediarank.systems.contract import Inputs, Outcome
from mediarank.systems.registry import system
from mediarank.types import DataError, NotApplicable


def run_system(name: str, inputs: Inputs, config: Any) -> Outcome:
    """What the system fits and ranks, or an empty outcome that says why the collection is none for it."""
    try:
        outcome = system(name).run(inputs, config)
    except NotApplicable as error:
        return Outcome({}, {"skipped": str(error)}, {})
    for method, scores in outcome.scores.items():
        if not len(scores):
            raise DataError(f"{name}/{method} ranked nothing: no item of role test has the labels that it needs.")
        scores.require_finite()
    return outcome
