"""Fuse base scores from other programs: tables of scores in, fused scores and the learned weights out.

A table has one row per clip: `item`, `relevant` (1 or 0) where the clip is learned from, `event` if there are several,
and one column of scores per base classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mediarank.learners.fusion.choice import Examples, best, candidates, validate
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.types import DataError, require_columns

ITEM, EVENT, RELEVANT = "item", "event", "relevant"
NOT_SCORES: Final = (ITEM, EVENT, RELEVANT)
VALIDATED: Final = "validated"
"""In place of a method: the one that cross-validation over the unseen clips finds best."""
FLAGS: Final = {
    "1": True,
    "0": False,
    "1.0": True,
    "0.0": False,
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
}


@dataclass(frozen=True)
class Fused:
    """Fused scores and the weights behind them.

    scores : event, item, score, the best clips of each event first
    weights : event, bias, one column per classifier
    method : the fusion that was used
    validation : fusion -> its mean average precision, if one was to be chosen
    """

    scores: pd.DataFrame
    weights: pd.DataFrame
    method: str
    validation: dict[str, float] = field(default_factory=dict)


def read_score_table(path: Path, *, labelled: bool) -> pd.DataFrame:
    """item, event (empty if the file has none), relevant if `labelled`, and scores as numbers."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} can't be read as a CSV of scores: {error}") from error
    require_columns(table, (ITEM, RELEVANT) if labelled else (ITEM,), str(path))
    if EVENT not in table:
        table[EVENT] = ""
    classifiers = [str(c) for c in table.columns if c not in NOT_SCORES]
    if not classifiers or table.empty:
        raise DataError(f"{path} needs at least one row and one column of scores beside {', '.join(NOT_SCORES)}.")
    for column in classifiers:
        numbers = pd.to_numeric(table[column].str.strip(), errors="coerce")
        _refuse(path, column, table[column], ~np.isfinite(numbers.to_numpy(dtype=np.float64)), "a finite number")
        table[column] = numbers.astype(np.float64)
    columns = [ITEM, EVENT, *classifiers]
    if labelled:
        flags = table[RELEVANT].str.strip().str.lower().map(FLAGS)
        _refuse(path, RELEVANT, table[RELEVANT], flags.isna().to_numpy(), "1 or 0")
        table[RELEVANT] = flags.astype(bool)
        columns.insert(2, RELEVANT)
    repeated = table[table.duplicated([ITEM, EVENT])]
    if len(repeated):
        raise DataError(f"{path} has {repeated[ITEM].iloc[0]!r} more than once; give one row per clip (and event).")
    return table[columns]


def fuse(
    source: pd.DataFrame,
    target: pd.DataFrame,
    clips: pd.DataFrame,
    method: str,
    out_of_fold: pd.DataFrame | None = None,
) -> Fused:
    """Learn from source and target, event by event, and fuse the scores of `clips`.

    source : clips that the base models were trained on, with the scores that these models give them
    target : labelled clips that the base models have not seen
    method : a fusion, or `validated`
    out_of_fold : the scores of the source's clips by cross-validation, for the methods that need them
    """
    if method != VALIDATED and fusion(method).source != "held_in" and out_of_fold is None:
        raise DataError(f"{method} learns from out-of-fold scores of the training clips; give a table of them too.")
    held_out = source if out_of_fold is None else out_of_fold
    classifiers = [str(c) for c in source.columns if c not in NOT_SCORES]
    for table, what in ((target, "unseen clips"), (clips, "clips to fuse"), (held_out, "out-of-fold scores")):
        require_columns(table, classifiers, f"the table of {what}")
        unknown = [str(c) for c in table.columns if c not in (*NOT_SCORES, *classifiers)]
        if unknown:
            raise DataError(f"The table of {what} has {', '.join(unknown)}, which the training clips' table lacks.")
    events: dict[str, Examples] = {}
    for event in sorted(set(clips[EVENT])):
        learned, seen, again = (table[table[EVENT] == event] for table in (source, target, held_out))
        if learned.empty or seen.empty:
            raise DataError(
                f"Event {event!r} is asked for, but has no training clips or no unseen clips to learn from."
            )
        again = again.set_index(ITEM).reindex(learned[ITEM])
        if again[classifiers].isna().to_numpy().any():
            raise DataError(f"Some training clips of event {event!r} have no out-of-fold scores; give each clip a row.")
        events[event] = Examples(
            learned[classifiers].to_numpy(),
            None if out_of_fold is None else again[classifiers].to_numpy(),
            learned[RELEVANT].to_numpy(bool),
            seen[classifiers].to_numpy(),
            seen[RELEVANT].to_numpy(bool),
        )
    validation: dict[str, float] = {}
    if method == VALIDATED:
        validation = validate(list(events.values()), candidates(list(events.values())))
        chosen = best(validation)
        if chosen is None:
            raise DataError("No event has two relevant and two other unseen clips to validate on; name a method.")
        method = chosen
    scores, weights = [], []
    for event, examples in events.items():
        asked = clips[clips[EVENT] == event]
        fitted = fusion(method).make()
        fitted.fit(examples.source(method), examples.source_y, examples.target, examples.target_y)
        fused = pd.DataFrame({EVENT: event, ITEM: asked[ITEM], "score": fitted.predict(asked[classifiers])})
        scores.append(fused.sort_values(["score", ITEM], ascending=[False, True]))
        weights.append(
            {EVENT: event, "bias": float(fitted.bias_), **dict(zip(classifiers, fitted.weights_, strict=True))}
        )
    return Fused(pd.concat(scores, ignore_index=True), pd.DataFrame(weights), method, validation)


def _refuse(
    path: Path, column: str, values: pd.Series, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], what: str
) -> None:
    if wrong.any():
        line = int(wrong.argmax())
        raise DataError(f"{path}, line {line + 2}: {column} must be {what}, not {values.iloc[line]!r}.")
