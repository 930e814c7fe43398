"""What a fitted and measured system leaves for the report: one object, from which `report.py` of a system tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mediarank.evaluation.answers import Answer, Doubt, Measure, Quality
from mediarank.evaluation.measured import Measured
from mediarank.evaluation.wording import Wording, hint, plain
from mediarank.labels import Labels
from mediarank.types import FeatureMatrix


@dataclass(frozen=True)
class SystemResult:
    """What a system's two stages wrote, and the labels that it was measured by.

    scores : method -> test items × names, or rankings
    facts : of its model, such as the method that is served
    figures : numbers of the paper's figures
    probabilities : test items × names, where the system gives them
    """

    scores: Mapping[str, Any]
    measured: Measured
    labels: Labels
    facts: Mapping[str, Any]
    figures: Mapping[str, Any] = field(default_factory=dict)
    probabilities: FeatureMatrix | None = None

    @property
    def served(self) -> str:
        """The method that answers."""
        return str(self.facts["served"])

    def answer(
        self,
        task: str,
        command: str,
        words: Wording,
        measure: tuple[str, str],
        names: Sequence[Quality],
        doubts: Sequence[Doubt] = (),
        learnable: bool = False,
    ) -> Answer:
        """What the served method can do.

        words : the system's methods in a user's words
        measure : the metric, and how it is called on the page
        """
        shown = Measure.of(self.measured.summary, self.served, *measure)
        in_words, in_the_papers = plain(words, self.served), hint(words, self.served)
        return Answer(task, command, self.served, in_words, in_the_papers, shown, names, doubts, learnable)
