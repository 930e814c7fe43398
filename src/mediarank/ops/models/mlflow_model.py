"""The model that MLflow loads, as code: MLflow keeps this script beside the packed files and runs it to load them.

A request is a table. Each row is a query: an `item` of the collection, an `image` or a `clip` (a file's bytes in
base64), or one column of numbers per feature type; for types that keep the frames of a clip, one list of numbers per
frame. The answer has one row for each of the `count` best: query, rank, name, score.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from mediarank.asking.scores import best
from mediarank.ops.models.packing import Packed, unpack
from mediarank.types import DataError, Doubles


class Ranking(PythonModel):  # type: ignore[misc]  # MLflow ships no type information
    def load_context(self, context: Any) -> None:
        self.packed: Packed = unpack(Path(context.artifacts["packed"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        count = int((params or {}).get("count", 20))
        rows = model_input.to_dict("records")
        known = [k for k, row in enumerate(rows) if isinstance(row.get("item"), str)]
        scores = np.empty((len(rows), len(self.packed.model.names)))
        if known:
            scores[known] = self.packed.rank_items([rows[k]["item"] for k in known])
        for k in sorted(set(range(len(rows))) - set(known)):
            scores[k] = self._from_outside(rows[k])[0]
        names = [str(row.get("item") or k) for k, row in enumerate(rows)]
        return best(scores, self.packed.model.names, names, count)

    def _from_outside(self, row: dict[Any, Any]) -> Doubles:
        """Scores (1, names) of a query that is not an item of the collection."""
        content = next((row[name] for name in ("image", "clip") if isinstance(row.get(name), str)), None)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "file"
                try:
                    path.write_bytes(base64.b64decode(content, validate=True))
                except binascii.Error as error:
                    raise DataError(f"A file must be given as its bytes in base64: {error}") from None
                return self.packed.rank_file(path)
        features = self.packed.model.needs.features
        if not all(isinstance(row.get(name), list | np.ndarray) for name in features):
            raise DataError(f"A query has an item, an image, a clip, or numbers for each of: {', '.join(features)}.")
        return self.packed.rank_vectors({name: row[name] for name in features})


set_model(Ranking())
