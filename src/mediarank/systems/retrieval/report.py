"""How well queries are answered, and how it is shown: `measure` and `section` of the system `retrieval`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from mediarank.evaluation.answers import Answer, Doubt, Quality
from mediarank.evaluation.confusion import NEAREST, Confusion, taken_for
from mediarank.evaluation.measured import EvaluationConfig, Measured, measure_rankings
from mediarank.evaluation.protocols import mean_by_group
from mediarank.evaluation.ranking_section import Thumbnail, ranking_section
from mediarank.evaluation.rankings import Rankings
from mediarank.evaluation.report import Section
from mediarank.labels import Labels
from mediarank.systems.results import SystemResult
from mediarank.systems.retrieval.wording import METHODS

SUSPECT: Final = 8
"""Of the nearest items, how many must be of another class before a label is doubted."""


def measure(scores: Mapping[str, Rankings], labels: Labels, config: EvaluationConfig) -> Measured:
    return measure_rankings(scores, None, config)


def section(result: SystemResult, thumbnail: Thumbnail, depth: int) -> Section:
    """Classes that are confused, rankings and methods."""
    scores, facts = result.scores, result.facts
    return ranking_section(
        "Retrieval",
        "What looks like this one?",
        result.measured,
        scores,
        None,
        thumbnail,
        words=METHODS,
        served=result.served,
        names=Confusion(taken_for(scores[result.served], result.labels.class_of), thumbnail),
        groups=result.labels.class_of,
        depth=depth,
        intro=[
            f"Each of {len(next(iter(scores.values()))):,} test items, drawn by lot, is a query against the whole "
            "collection; items of its own class are relevant.",
            *([f"The best single similarity is {facts['best_fea']}."] if "best_fea" in facts else []),
            *([facts["warning"]] if "warning" in facts else []),
        ],
    )


def answer(result: SystemResult) -> Answer:
    """Which classes are found by example, and which items are unlike their class."""
    served, class_of, per_query = result.served, result.labels.class_of, result.measured.per_query
    own = per_query[per_query["method"] == served]
    shares = mean_by_group(own, class_of, "p@10")[served]
    queries = Counter(class_of[query] for query in own["query"])
    doubts = [
        Doubt(one.item, f"{one.own}, or {one.other}? {one.votes} of its {NEAREST} nearest", one.votes / NEAREST)
        for one in taken_for(result.scores[served], class_of)
        if one.other != one.own and one.votes >= SUSPECT
    ]
    return result.answer(
        "What looks like this one?",
        "mediarank search FILE",
        METHODS,
        ("ap", "mAP"),
        [Quality(str(name), float(share), queries[str(name)]) for name, share in shares.items()],
        doubts,
    )
