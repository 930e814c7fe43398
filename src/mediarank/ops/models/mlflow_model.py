"""The model that MLflow loads, as code: MLflow keeps this script beside the packed files and runs it to load them.

What a request may hold and what is answered is in `answering.py`. MLflow's own server has no limit on the bytes of a
body; `mediarank serve` has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from mediarank.ops.models.answering import answer
from mediarank.ops.models.packing import Packed, unpack
from mediarank.ops.models.request_body import DEFAULT_COUNT
from mediarank.ops.models.serving_limits import ServingLimits


class Ranking(PythonModel):  # type: ignore[misc]  # MLflow ships no type information
    def load_context(self, context: Any) -> None:
        self.limits = ServingLimits()
        self.packed: Packed = unpack(Path(context.artifacts["packed"]), self.limits.narrowed)

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        count = max(1, int((params or {}).get("count", DEFAULT_COUNT)))
        return answer(self.packed, model_input.to_dict("records"), count, self.limits)


set_model(Ranking())
