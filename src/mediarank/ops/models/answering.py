"""From the rows of a request to its answer, the same for `mediarank serve` and for MLflow's own server.

Each row is one query: an `item` of the collection; or an `image`, a `clip` or a `sound`, as a file's bytes in base64;
or numbers for every feature type, one list per frame where the type keeps the frames of a clip. The answer has one row
for each of the `count` best of each query: query, rank, name, score. An item of the collection is not among its own
answers.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from mediarank.asking.scores import best
from mediarank.ops.models.packing import Packed
from mediarank.ops.models.serving_limits import ServingLimits
from mediarank.types import DataError, Doubles, MediarankError

ITEM: Final = "item"
FILES: Final = ("image", "clip", "sound")
BLOCK: Final = 16
"""Queries that are scored together; their scores for all names are in memory at once."""


class TooSlow(MediarankError):
    """A request takes longer than it may."""


def answer(
    packed: Packed,
    rows: Sequence[Mapping[Any, Any]],
    count: int,
    limits: ServingLimits,
    until: float = float("inf"),
) -> pd.DataFrame:
    """query, rank, name, score: the `count` best of each row.

    until : when to give up, on the clock of `time.monotonic`
    """
    queries = [_query(row, packed.model.needs.features, number) for number, row in enumerate(rows, start=1)]
    names = packed.model.names
    found = []
    for block in _blocks(queries):
        if time.monotonic() > until:
            raise TooSlow(f"The request took longer than {limits.request_seconds:g} s. Ask for fewer rows at a time.")
        called = [content if kind == ITEM else str(number) for number, kind, content in block]
        kind = block[0][1]
        if kind == ITEM:
            scores = packed.rank_items(called)
        elif kind in FILES:
            scores = _rank_file(packed, block[0][2], kind, limits)
        else:
            scores = packed.rank_vectors(block[0][2])
        if kind == ITEM and packed.ranks_items:
            scores[np.arange(len(called)), [packed.place[item] for item in called]] = -np.inf
        answers = best(scores, names, called, count)
        found.append(answers[answers["score"] != -np.inf])
    return pd.concat(found, ignore_index=True) if found else best(np.empty((0, 0)), (), (), count)


Query = tuple[int, str, Any]
"""The row's place in the request from 0, what it is (ITEM, one of FILES, or "vectors"), and its content."""


def _query(row: Mapping[Any, Any], features: Sequence[str], number: int) -> Query:
    """What a row asks, or DataError; columns without a value count as absent."""
    given = {str(name): value for name, value in row.items() if not _is_absent(value)}
    unknown = [name for name in given if name not in (ITEM, *FILES, *features)]
    if unknown:
        known = ", ".join((ITEM, *FILES, *features))
        raise DataError(f"Row {number} has the unknown column {unknown[0][:60]!r}. Known are {known}.")
    asked = [name for name in (ITEM, *FILES) if name in given]
    vectors = [name for name in features if name in given]
    if len(asked) + bool(vectors) != 1 or (vectors and len(vectors) < len(features)):
        raise DataError(
            f"Row {number} must have exactly one of {', '.join((ITEM, *FILES))}, or else numbers for each of "
            f"{', '.join(features)}."
        )
    if vectors:
        return number - 1, "vectors", {name: given[name] for name in features}
    if not isinstance(given[asked[0]], str):
        raise DataError(f"Row {number}: {asked[0]} must be text.")
    return number - 1, asked[0], given[asked[0]]


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _blocks(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    """Neighbouring items together, up to BLOCK; everything else alone."""
    start = 0
    for end in range(1, len(queries) + 1):
        alone = queries[end - 1][1] != ITEM or end == len(queries) or queries[end][1] != ITEM
        if alone or end - start == BLOCK:
            yield queries[start:end]
            start = end


def _rank_file(packed: Packed, content: str, kind: str, limits: ServingLimits) -> Doubles:
    if len(content) > (limits.max_file_bytes + 2) // 3 * 4:
        raise DataError(f"The {kind} is larger than the {limits.max_file_bytes:,} bytes that a file may have.")
    with tempfile.TemporaryDirectory(prefix="mediarank-") as folder:
        path = Path(folder) / "file"
        try:
            path.write_bytes(base64.b64decode(content, validate=True))
        except (binascii.Error, ValueError) as error:
            raise DataError(f"The {kind} must be a file's bytes in base64: {error}.") from None
        try:
            return packed.rank_file(path)
        except DataError as error:
            raise DataError(str(error).replace(str(path), f"The {kind}")) from None
