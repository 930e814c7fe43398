"""Compare and sort by attributes: which of two shows more, and the collection from weakest to strongest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mediarank.asking.items import Asked, match_name
from mediarank.asking.scores import scores_of
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.blocks import Gallery, Row, Tile
from mediarank.evaluation.ranking_section import Thumbnail
from mediarank.evaluation.report import Fact, Report, Section, render
from mediarank.systems.attributes.report import even_steps

SYSTEM = "attributes"


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


def compare(workspace: Workspace, attribute: str, first: Asked, second: Asked, method: str | None = None) -> Comparison:
    """Which of two items or files shows more of an attribute."""
    name = match_name(attribute, workspace.model(SYSTEM).names, "attribute")
    one, other = scores_of(workspace, SYSTEM, [first, second], [name], method)[:, 0].tolist()
    return Comparison(name, first.given, second.given, one - other)


def in_order(workspace: Workspace, attribute: str, method: str | None = None) -> pd.DataFrame:
    """The items that have all feature types, from weakest to strongest: place (from 1), item, score."""
    model = workspace.model(SYSTEM)
    name = match_name(attribute, model.names, "attribute")
    described = {kind: workspace.matrices[kind] for kind in model.needs.features}
    items = np.array(model.able(described), dtype=str)
    scores = model.rank(described, items.tolist(), [name], method)[:, 0]
    order = np.argsort(scores, kind="stable")  # equal scores stay in the order of ids
    return pd.DataFrame({"place": np.arange(1, len(items) + 1), "item": items[order], "score": scores[order]})


def order_page(attribute: str, order: pd.DataFrame, thumbnail: Thumbnail, count: int) -> str:
    """An offline page of `count` items at even steps of the order, weakest first and strongest last."""
    shown = [
        Tile(thumbnail(item), f"{score:.2f}", place, title=item)
        for place, item, score in order.iloc[even_steps(len(order), count)].itertuples(index=False)
    ]
    every = "Every item" if len(shown) == len(order) else "Items at even steps of the order"
    row = Row(attribute, shown, "weakest to strongest")
    gallery = Gallery("From weakest to strongest", [row], f"{every}, each with its place and its score.")
    facts = [Fact("items", f"{len(order):,}"), Fact("shown", f"{len(shown):,}")]
    return render(Report(attribute, (), [Section("In order", [gallery], f"Which shows more {attribute}?", facts)]))
