"""Keywords for pictures and clips, by the model that the stages wrote."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mediarank.asking.items import Asked
from mediarank.asking.scores import best, scores_of
from mediarank.asking.workspace import Workspace


def annotate(workspace: Workspace, asked: Sequence[Asked], count: int, method: str | None = None) -> pd.DataFrame:
    """query, rank, name, score: the best words of each item or file.

    A labelled item of the collection is annotated from the other items.
    """
    scores = scores_of(workspace, "annotation", asked, method=method)
    return best(scores, workspace.model("annotation").names, [one.given for one in asked], count)
