"""Search and feedback at the command line: from the pipeline's files to a live ranker, and from hits to a page.

`open_live` puts together what the stages wrote and what users have said since. `vectors_of` describes a picture that
is not in the collection just as the pipeline would, given families `with_codebooks`. `hits_page` is an offline page of
thumbnails, with the reasons for the first hits if they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from mediarank import store
from mediarank.evaluation.blocks import Block, Cell, Column, Gallery, Row, Table, Tile
from mediarank.evaluation.ranking_section import Thumbnail
from mediarank.evaluation.report import Report, Section, render
from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import Extractor, LocalExtractor, Picture
from mediarank.features.cache import FeatureCache
from mediarank.features.matrix import fit
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.looking import look
from mediarank.systems.retrieval.live import Hit, LiveRanker
from mediarank.teaching.feedback import FeedbackStore
from mediarank.types import DataError, Floats

REASONS: Final = 6
"""Rows of an explanation that a page shows."""


def open_live(data: Path, feedback: Path, method: str | None = None) -> tuple[LiveRanker, FeedbackStore, int]:
    """The ranker with all feedback learned, its store, and how many events named items that are gone.

    method : a linear one that was fitted; by default the one with the highest validation mAP
    """
    folder = data / "systems/retrieval"
    arrays, facts = store.read_arrays(folder / "model.npz"), store.read_json(folder / "model.json")
    matrices = {name: store.read_features(data / "features" / name) for name in facts["features"]}
    if method is None:
        fitted = {name: found["validation_map"] for name, found in facts["methods"].items() if name in arrays}
        method = max(sorted(fitted), key=lambda name: fitted[name])
    live = LiveRanker.of_model(matrices, arrays, facts, method)
    kept = FeedbackStore(feedback)
    return live, kept, kept.restore(live)


def with_codebooks(
    families: Mapping[str, Extractor | LocalExtractor], data: Path, cache: FeatureCache
) -> dict[str, Extractor]:
    """Families that can describe a picture at once: local ones with the codebook that the pipeline fitted for them.

    It comes from the cache, or is fitted again on the same items, which gives the same words.
    """
    made: dict[str, Extractor] = {}
    for name, family in families.items():
        if isinstance(family, LocalExtractor):
            frames, sounds = (store.read_table(data / f"frames/{table}.parquet") for table in ("frames", "sounds"))
            roles = store.read_roles(data / "splits/roles.parquet")
            made[name] = BagOfWords(family, fit(family, frames, sounds, data / "frames/media", roles, cache))
        else:
            made[name] = family
    return made


def vectors_of(
    image: str,
    live: LiveRanker,
    families: Mapping[str, Extractor],
    frames: FramesConfig,
    limits: Limits,
) -> tuple[tuple[Floats, ...], bool]:
    """The query's vectors, and whether it is an item of the collection: `image` is an item's id or a file's path."""
    if image in live.matrices[0]:
        return tuple(live.vectors(image)), True
    path = Path(image)
    if not path.is_file():
        raise DataError(f"{image} is neither an item of the collection nor a file; give one of the two.")
    picture, _ = look(path, frames, limits)
    return tuple(_extract(name, families[name], picture) for name in live.features), False


def _extract(name: str, family: Extractor, picture: Picture) -> Floats:
    if family.modality != "image":
        raise DataError(
            f"{name} describes a {family.modality}, not a picture from outside: bring the file into the collection, or "
            "search with feature types of pictures only."
        )
    return family.extract(picture)


def hits_page(
    query: str,
    picture: bytes | None,
    hits: Sequence[Hit],
    thumbnail: Thumbnail,
    reasons: Mapping[str, pd.DataFrame] | None = None,
) -> str:
    """The hits as HTML, best first. reasons : item -> what `LiveRanker.explain` says of it"""
    tiles = [
        Tile(thumbnail(hit.item), f"{hit.score:.3f}", rank, title=hit.item) for rank, hit in enumerate(hits, start=1)
    ]
    row = Row(query, tiles, f"{len(hits)} nearest", Tile(picture, "query", title=query))
    blocks: list[Block] = [Gallery("What looks like this one", [row])]
    names = [[str(rank), hit.item, f"{hit.score:.4f}"] for rank, hit in enumerate(hits, start=1)]
    columns = [Column("rank", numeric=True), Column("item"), Column("score", numeric=True)]
    blocks.append(Table("Ids, for feedback", columns, names, folded=True))
    blocks += [_reasons(item, table) for item, table in (reasons or {}).items()]
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
    return Table(f"Why {item}", columns, rows, note="The parts that decided most.", half=True)
