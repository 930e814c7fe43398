"""Keywords for pictures and clips, by the model that the stages wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mediarank.asking.items import Asked
from mediarank.asking.scores import best, scores_of
from mediarank.asking.workspace import Workspace
from mediarank.evaluation.calibration import best_cut
from mediarank.evaluation.keywords import SUGGESTIONS

MOST: Final = 15
"""Words per image at most, where the number is not given."""


def annotate(
    workspace: Workspace, asked: Sequence[Asked], count: int | None = None, method: str | None = None
) -> pd.DataFrame:
    """query, rank, name, score, probability: the best words of each item or file.

    count : words per image; by default as many as are probable: those with the best expected F1 of the image
    A labelled item of the collection is annotated by the others. Where the method is calibrated, the most probable
    words come first; otherwise those with the highest scores, by default five, and `probability` is NaN.
    """
    model = workspace.model("annotation")
    scores = scores_of(workspace, "annotation", asked, method=method)
    given = [one.given for one in asked]
    calibration = workspace.calibration("annotation") if model.method(method) == model.served else None
    if calibration is None:
        return best(scores, model.names, given, count or SUGGESTIONS).assign(probability=np.nan)
    p = calibration.probabilities(scores, model.names)
    table = best(p, model.names, given, count or MOST)
    table = table.rename(columns={"score": "probability"})
    place = {name: k for k, name in enumerate(model.names)}
    row = {one: k for k, one in enumerate(given)}
    table["score"] = [scores[row[q], place[n]] for q, n in zip(table["query"], table["name"], strict=True)]
    if count is None:
        words = {one: max(1, best_cut(p[k]).count) for k, one in enumerate(given)}
        table = table[[rank <= words[q] for q, rank in zip(table["query"], table["rank"], strict=True)]]
    return table[["query", "rank", "name", "score", "probability"]].reset_index(drop=True)


def suggestions(workspace: Workspace) -> pd.DataFrame:
    """item, keyword, probability: probable words that items don't have yet, best first per item.

    `probability` is NaN where the served method is not calibrated.
    """
    model = workspace.model("annotation")
    able = set(model.able({kind: workspace.matrices[kind] for kind in model.needs.features}))
    items = [item for item in workspace.manifest.usable["item_id"].tolist() if item in able]
    if not items:
        return pd.DataFrame({"item": [], "keyword": [], "probability": []})
    table = annotate(workspace, [Asked(item, item=item) for item in items])
    has = set(workspace.labels["keywords"][["item", "keyword"]].itertuples(index=False, name=None))
    fresh = [pair not in has for pair in zip(table["query"], table["name"], strict=True)]
    table = table.loc[fresh, ["query", "name", "probability"]].reset_index(drop=True)
    return table.set_axis(["item", "keyword", "probability"], axis=1)
