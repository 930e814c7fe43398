"""The model that MLflow loads, as code: MLflow keeps this script beside the packed files and runs it to load them.

A request is a table. Each row is a query: an `item` of the collection, an `image` (a file's bytes in base64), or a
column of numbers for every feature type. The answer has a row for each of the `count` best: query, rank, name, score.
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

from mediarank.ops.serving import Packed, best, unpack
from mediarank.types import DataError, Floats


class Ranking(PythonModel):  # type: ignore[misc]  # MLflow ships no type information
    def load_context(self, context: Any) -> None:
        self.packed: Packed = unpack(Path(context.artifacts["packed"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        count = int((params or {}).get("count", 20))
        vectors = [self._vectors(row) for row in model_input.to_dict("records")]
        queries = {name: np.concatenate([v[name] for v in vectors]) for name in self.packed.served.features}
        names = [str(row.get("item") or k) for k, row in enumerate(model_input.to_dict("records"))]
        return best(self.packed.served.rank(queries), self.packed.served.names, names, count)

    def _vectors(self, row: dict[Any, Any]) -> dict[str, Floats]:
        """What the row's query looks like to each feature type, (1, dimensions)."""
        if isinstance(row.get("item"), str):
            return self.packed.vectors_of_items([row["item"]])
        if isinstance(row.get("image"), str):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "image"
                try:
                    path.write_bytes(base64.b64decode(row["image"], validate=True))
                except binascii.Error as error:
                    raise DataError(f"image must be a file's bytes in base64: {error}") from None
                return self.packed.vectors_of_file(path)
        features = self.packed.served.features
        if not all(isinstance(row.get(name), list | np.ndarray) for name in features):
            raise DataError(f"A query has an item, an image, or numbers for each of: {', '.join(features)}.")
        return {name: np.asarray(row[name], dtype=np.float32)[None] for name in features}


set_model(Ranking())
