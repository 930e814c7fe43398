"""Search by example: the vectors of what was named, and hits as a page of thumbnails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from mediarank.asking.explaining import in_words
from mediarank.asking.items import Asked
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.blocks import Block, Cell, Column, Gallery, Row, Table, Text, Tile
from mediarank.evaluation.ranking_section import Thumbnail
from mediarank.evaluation.report import Report, Section, render
from mediarank.systems.retrieval.live import Hit
from mediarank.types import DataError, Floats

REASONS: Final = 6
"""Rows of an explanation that a page shows."""


def query_vectors(workspace: Workspace, asked: Asked, types: Sequence[str]) -> tuple[Floats, ...]:
    """One vector per feature type: the item's own, or the file's, described as the pipeline would."""
    if asked.path is None:
        return tuple(workspace.vectors_of(asked.id, types))
    from mediarank.asking.describe import describe  # slow to import, and only files need it

    described = describe(workspace, {asked.id: asked.path}, types)
    lacking = [name for name, matrix in described.items() if asked.id not in matrix]
    if lacking:
        raise DataError(
            f"{asked.given} has nothing that {', '.join(lacking)} could describe; search with a picture or a clip, or "
            "take these types out of systems.retrieval.features."
        )
    return tuple(described[name].rows([asked.id])[0] for name in types)


def hits_page(
    query: str,
    picture: bytes | None,
    hits: Sequence[Hit],
    thumbnail: Thumbnail,
    reasons: Mapping[str, pd.DataFrame] | None = None,
    families: Mapping[str, str] | None = None,
) -> str:
    """The hits as HTML, best first.

    reasons : item -> what `LiveRanker.explain` says of it; shown in words, the numbers folded
    families : feature type -> its family
    """
    tiles = [
        Tile(thumbnail(hit.item), f"{hit.score:.3f}", rank, title=hit.item) for rank, hit in enumerate(hits, start=1)
    ]
    row = Row(query, tiles, f"{len(hits)} nearest", Tile(picture, "query", title=query))
    blocks: list[Block] = [Gallery("What looks like this one", [row])]
    names = [[str(rank), hit.item, f"{hit.score:.4f}"] for rank, hit in enumerate(hits, start=1)]
    columns = [Column("rank", numeric=True), Column("item"), Column("score", numeric=True)]
    blocks.append(Table("Ids, for feedback", columns, names, folded=True))
    for item, table in (reasons or {}).items():
        blocks += [Text([f"Why {item}: {in_words(table, families or {})}."]), _reasons(item, table)]
    return render(Report("Search by example", (), [Section("Results", blocks, f"What looks like {query}?")]))


def _reasons(item: str, table: pd.DataFrame) -> Table:
    columns = [
        Column("feature"),
        Column("similarity"),
        Column("value", numeric=True, hint="deviations above the mean of training pairs"),
        Column("weight", numeric=True),
        Column("contribution", numeric=True, hint="value × weight; all of them add up to the score"),
    ]
    rows: list[list[Cell | str]] = []
    for reason in table.head(REASONS).itertuples(index=False):
        feature, similarity, value, weight, contribution = reason
        tone = "good" if contribution > 0 else "bad"
        rows.append([feature, similarity, f"{value:.2f}", f"{weight:.3f}", Cell(f"{contribution:+.3f}", tone=tone)])
    return Table(f"Why {item}, in numbers", columns, rows, note="The parts that decided most.", folded=True)
