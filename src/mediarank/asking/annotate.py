"""Keywords for pictures, with the model that the stages wrote.

`open_annotator` reads the fitted system `annotation` and the vectors of its labelled images; `annotate` suggests words
for pictures that are described just as the pipeline would (see `compare.described`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mediarank import store
from mediarank.ops.models.packing import best
from mediarank.systems.annotation.model import ServedAnnotation, serve
from mediarank.types import DataError, FeatureMatrix


def open_annotator(data: Path, method: str | None = None) -> tuple[ServedAnnotation, dict[str, FeatureMatrix]]:
    """The model, and the features of the whole collection. method : by default the one that validated best"""
    folder = data / "systems/annotation"
    if not (folder / "model.json").exists():
        raise DataError(
            f"There is no fitted model in {folder}; list annotation under systems in params.yaml and run dvc repro."
        )
    facts = store.read_json(folder / "model.json")
    if "skipped" in facts:
        raise DataError(f"No keyword was learned: {facts['skipped']}")
    matrices = {name: store.read_features(data / "features" / name) for name in facts["features"]}
    return serve(store.read_arrays(folder / "model.npz"), facts, matrices, method), matrices


def annotate(served: ServedAnnotation, pictures: Mapping[str, FeatureMatrix], count: int) -> pd.DataFrame:
    """query, rank, name, score: the best words of each picture. pictures : feature type -> a row a picture

    A picture that is a labelled image of the collection is annotated by the others.
    """
    names = next(iter(pictures.values())).ids.tolist()
    vectors = [pictures[name].rows(names) for name in served.features]
    scores = served.model.scores(vectors, served.known, [served.method], names)[served.method]
    return best(scores, served.names, names, count)
