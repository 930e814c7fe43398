"""Compare and sort by attributes, with what the stages wrote.

`open_model` reads the fitted model of the system `attributes` and the features that it looks at. `described` finds the
vectors of the items asked about, be they of the collection or files from outside, `judge` answers with a margin,
`in_order` scores the whole collection, and `order_page` shows it as thumbnails from weakest to strongest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mediarank import store
from mediarank.evaluation.blocks import Gallery, Row, Tile
from mediarank.evaluation.ranking_section import Thumbnail
from mediarank.evaluation.report import Fact, Report, Section, render
from mediarank.features.base import Extractor
from mediarank.learners.kernels.attribute_model import AttributesModel
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.looking import look
from mediarank.systems.attributes.report import even_steps
from mediarank.types import DataError, FeatureMatrix


@dataclass(frozen=True)
class Comparison:
    """Which of two shows more of an attribute, and by how much; 1 is the margin that training asks of a pair."""

    attribute: str
    first: str
    second: str
    margin: float

    def __str__(self) -> str:
        if self.margin == 0:
            return f"{self.first} and {self.second} show {self.attribute} equally"
        more, less = (self.first, self.second) if self.margin > 0 else (self.second, self.first)
        return f"{more} shows more {self.attribute} than {less}"


def open_model(data: Path, attribute: str) -> tuple[AttributesModel, dict[str, FeatureMatrix]]:
    """The fitted model, which must know the attribute, and its feature types."""
    folder = data / "systems/attributes"
    if not (folder / "model.json").exists():
        raise DataError(
            f"There is no fitted model in {folder}; list attributes under systems in params.yaml and run dvc repro."
        )
    facts = store.read_json(folder / "model.json")
    if "skipped" in facts:
        raise DataError(f"No attribute was learned: {facts['skipped']}")
    model = AttributesModel.from_arrays(store.read_arrays(folder / "model.npz"), facts)
    model.column(attribute)
    return model, {name: store.read_features(data / "features" / name) for name in model.features}


def described(
    images: Sequence[str],
    matrices: Mapping[str, FeatureMatrix],
    families: Callable[[], Mapping[str, Extractor]],
    frames: FramesConfig,
    limits: Limits,
) -> dict[str, FeatureMatrix]:
    """A row for each image in every feature type; an image is an item's id or a file's path.

    families : makes the extractors; called only if a file is not of the collection
    """
    wanted = list(dict.fromkeys(images))
    strangers = [image for image in wanted if not all(image in matrix for matrix in matrices.values())]
    for image in strangers:
        if not Path(image).is_file():
            raise DataError(f"{image} is neither an item of the collection nor a file; give one of the two.")
    extractors = families() if strangers else {}
    pictures = {image: look(Path(image), frames, limits)[0] for image in strangers}
    found = {}
    for name, matrix in matrices.items():
        if strangers and extractors[name].modality != "image":
            raise DataError(
                f"{name} describes a {extractors[name].modality}, not a picture from outside: bring the file into the "
                "collection, or use kernels on feature types of pictures only."
            )
        rows = [
            extractors[name].extract(pictures[image]) if image in pictures else matrix.rows([image])[0]
            for image in wanted
        ]
        found[name] = FeatureMatrix(np.array(wanted), matrix.names, np.stack(rows))
    return found


def judge(
    model: AttributesModel, features: Mapping[str, FeatureMatrix], attribute: str, first: str, second: str
) -> Comparison:
    return Comparison(attribute, first, second, model.margin(features, attribute, first, second))


def in_order(model: AttributesModel, features: Mapping[str, FeatureMatrix], attribute: str) -> pd.DataFrame:
    """The items that have all feature types, from weakest to strongest: place (from 1), item, score."""
    known = set[str].intersection(*(set(matrix.ids.tolist()) for matrix in features.values()))
    items = np.array(sorted(known), dtype=str)
    scores = model.scores(features, items.tolist()).values[:, model.column(attribute)]
    order = np.argsort(scores, kind="stable")  # equal scores stay in the order of ids
    places = np.arange(1, len(items) + 1)
    return pd.DataFrame({"place": places, "item": items[order], "score": scores[order].astype(np.float64)})


def order_page(attribute: str, order: pd.DataFrame, thumbnail: Thumbnail, count: int) -> str:
    """An offline page of so many items at even steps of the order, weakest first and strongest last."""
    shown = [
        Tile(thumbnail(item), f"{score:.2f}", place, title=item)
        for place, item, score in order.iloc[even_steps(len(order), count)].itertuples(index=False)
    ]
    every = "Every item" if len(shown) == len(order) else "Items at even steps of the order"
    row = Row(attribute, shown, "weakest to strongest")
    gallery = Gallery("From weakest to strongest", [row], f"{every}; below each its score, on it its place.")
    facts = [Fact("items", f"{len(order):,}"), Fact("shown", f"{len(shown):,}")]
    return render(Report(attribute, (), [Section("In order", [gallery], f"Which shows more {attribute}?", facts)]))
