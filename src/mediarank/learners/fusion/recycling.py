"""Training data recycling (paper 002): the base models' own training clips help to learn how to fuse them.

Their scores are too good, so they are first equalised onto those of unseen clips (`equalisation.py`), then TrAdaBoost
(`tradaboost.py`) lowers the weight of the clips that still do not fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from mediarank.learners.fusion.equalisation import equalise
from mediarank.learners.fusion.linear_fusion import Fusion, Marks, Strength
from mediarank.learners.fusion.tradaboost import TargetStep, boost
from mediarank.types import Doubles


@dataclass
class Recycling(Fusion):
    """Equalise, boost, add up: one linear function.

    iterations : T; 1 gives the equalised scores equal costs and no boosting
    strength : λ, on costs that sum to 1
    balanced, target_step : see `boost`
    doubt : see `equalise`

    After `fit`, `staged_` (T, ..., classifiers + 1) holds the function after each iteration, the bias last.
    """

    iterations: Annotated[int, Field(ge=1)] = 10
    strength: Strength = 0.01
    balanced: bool = False
    target_step: TargetStep = "printed"
    doubt: Annotated[float, Field(ge=0)] = 0.0
    staged_: Doubles = field(init=False, repr=False)

    def learn(self, source: Doubles, source_y: Marks, target: Doubles, target_y: Marks) -> Doubles:
        boosted = boost(
            equalise(source, source_y, target, target_y, doubt=self.doubt),
            source_y,
            target,
            target_y,
            iterations=self.iterations,
            strength=self.strength,
            balanced=self.balanced,
            target_step=self.target_step,
        )
        self.staged_ = boosted.staged
        return boosted.combined
