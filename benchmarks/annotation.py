"""Paper 001: how well and how fast keywords are suggested.

    python benchmarks/annotation.py                     # speed of boosting, on made-up pairs
    python benchmarks/annotation.py --data FOLDER       # table 1 on a collection with keywords and its own split

With a collection: features are extracted (and kept in --cache), for each set of feature types all methods are fitted to
the training images, every number chosen by cross-validation among them, and the test images are annotated once. Then
RNN and NW-RNN are repeated on other draws of pairs, with the numbers already chosen; `train_s` is what RNN takes end
to end: all distances, the draw, boosting, and the annotation of the test images.
The last line is one JSON object; `network` and `all` in it are the best method of these sets by cross-validation, and
`f1` has every method of every set.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from annotation_speed import boosting
from annotation_types import SETS, Described, describe

from mediarank.evaluation.keywords import KeywordScores, row_scores
from mediarank.learners.neighbours.keyword_scores import TrainingQueries
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import NeighbourRanker
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.similarity.distance_stack import stack_distances
from mediarank.systems.annotation.config import METHODS, Config
from mediarank.systems.annotation.fit import effect_of_k
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.systems.annotation.methods import FittedMethod, fit_methods
from mediarank.systems.annotation.rankers import RANKERS

PUBLISHED = {
    "jec": (27, 32, 139), "lasso": (24, 29, 127), "nw_rnn": (29, 32, 149), "rnn": (31, 34, 149),
    "tagprop": (33, 42, 160), "2pknn": (39, 40, 177),
}  # fmt: skip
"""P %, R %, N+ on Corel 5K: table 1 of the paper; TagProp and 2PKNN as their authors report them, on other features."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with keywords and a test part")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--sets", nargs="+", default=["jec", "rich"], choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--repeats", type=int, default=1, help="other draws of pairs for RNN and NW-RNN")
    parser.add_argument(
        "--pairs", type=int, nargs="+", default=[500], help="a training image; of several, one is chosen"
    )
    parser.add_argument("--rounds", type=int, nargs="+", default=[400], help="of RankBoost; of several, one is chosen")
    parser.add_argument("--depths", type=int, nargs="+", default=[50], help="of NDCG; of several, one is chosen")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speed-pairs", type=int, default=2_000_000, help="of the speed part")
    options = parser.parse_args()
    report = claims(options) if options.data else {}
    report |= boosting(options.speed_pairs)
    print(json.dumps(report))


def claims(options: argparse.Namespace) -> dict[str, Any]:
    tables = {}
    for name in options.sets:
        config = Config(
            tuple(SETS[name]),
            SETS[name],
            tuple(options.methods),
            pairs=tuple(options.pairs),
            rounds=tuple(options.rounds),
            ndcg_depth=tuple(options.depths),
            seed=options.seed,
        )
        split = Split(describe(options.data, options.cache, SETS[name]), config.features)
        tables[name] = table_of(name, split, config, options.repeats)
    last = tables[options.sets[-1]]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory {peak:.1f} GiB")
    others = {name: table for name, table in tables.items() if table is not last}
    best = {name: table["best"] for name, table in tables.items() if name in ("network", "all")}
    f1 = {name: table.pop("f1") for name, table in tables.items()}
    return {
        "features": options.sets[-1],
        **last,
        "other_features": others,
        **best,
        "f1": f1,
        "peak_gib": round(peak, 2),
    }


def table_of(name: str, split: Split, config: Config, repeats: int) -> dict[str, Any]:
    """Fit, choose and measure everything on one set of feature types."""
    started = time.perf_counter()
    labelled, stack = split.distances(config)
    distances_s = time.perf_counter() - started
    print(
        f"\n{name}: {len(config.features)} feature types, {len(split.train)} training images, {len(split.test)} test "
        f"images, {len(split.words)} words; distances and ranks {distances_s:.0f} s\n"
    )
    print(
        f"{'method':16}{'P %':>6}{'R %':>6}{'F1 %':>6}{'N+':>5}   {'published':14}{'held out':>9}   chosen  (table 1)"
    )
    fitted: dict[str, FittedMethod] = {}
    scores = {}
    for group in together(config.methods):
        for method, found in fit_methods(labelled, group, config).items():
            fitted[method], scores[method] = found, split.measured(found.ranker, found, stack)
            print_row(method, scores[method], found)
    print(f"all methods {elapsed(started):.0f} s")
    repeated = repeat(split, labelled, stack, fitted, config, repeats)
    best = max(fitted, key=lambda method: fitted[method].chosen.scores.f1)  # by cross-validation, not by the table
    for point in effect_of_k(fitted):
        print(f"figure 1, k = {point['k']:>3}: P {point['precision']:.3f} R {point['recall']:.3f} N+ {point['n_plus']}")
    return {
        **{method: short(found) for method, found in scores.items()},
        "repeated": repeated,
        "best": {"name": best, **short(scores[best]), "f1": percent(scores[best].f1), "n_plus": scores[best].n_plus},
        "f1": {method: percent(found.f1) for method, found in scores.items()},
        "train_s": round(distances_s + repeated["rnn"]["fit_and_annotate_s"], 1) if "rnn" in repeated else None,
    }


class Split:
    """Training and test images of a collection and their words. words : that occur in both parts"""

    def __init__(self, described: Described, features: Sequence[str]) -> None:
        labelled = set(described.labels["keywords"]["item"])
        self.train, self.test = (
            sorted(item for item in described.roles.items(*roles) if item in labelled)
            for roles in (("base", "rank", "valid"), ("test",))
        )
        group_of = dict(zip(described.roles.table["item_id"], described.roles.table["group_id"], strict=True))
        self.groups = [group_of[item] for item in self.train]
        true = words_of(described.labels, [*self.train, *self.test])
        parts = [{word for item in items for word in true[item]} for items in (self.train, self.test)]
        self.words = sorted(set.intersection(*parts))
        self.keywords = Keywords.of(self.train, true, self.words)
        self.true = Keywords.of(self.test, true, self.words).rows
        self._vectors = [
            [described.features[name].rows(items) for name in features] for items in (self.train, self.test)
        ]

    def distances(self, config: Config) -> tuple[Labelled, np.ndarray]:
        """Among training images, and of test images to them; the vectors are not needed any more then."""
        rng = np.random.default_rng([config.seed, 0])
        fold_of = deal_folds([None] * len(self.train), config.folds, config.seed, self.groups)
        asked = np.sort(rng.choice(len(self.train), config.queries_among(len(self.train)), replace=False))
        known, unknown = self._vectors
        stack = stack_distances(unknown, known, config.measures)
        self._vectors = []
        del unknown
        one_by_one = (known.pop(0) for _ in config.measures)
        return Labelled.of(one_by_one, config.measures, self.keywords, fold_of, asked), stack

    def measured(self, ranker: NeighbourRanker, found: FittedMethod, stack: np.ndarray) -> KeywordScores:
        scores = np.concatenate(
            [
                found.rule.scores(ranker.similarity(stack[:, start : start + 128]), self.keywords)
                for start in range(0, len(self.test), 128)
            ]
        )
        return row_scores(self.true, scores)


def repeat(
    split: Split,
    labelled: Labelled,
    stack: np.ndarray,
    fitted: Mapping[str, FittedMethod],
    config: Config,
    repeats: int,
) -> dict[str, Any]:
    """RNN and NW-RNN on other draws of pairs, with the settings chosen before: means, deviations and mean seconds."""
    found: dict[str, Any] = {}
    for method in [m for m in ("nw_rnn", "rnn") if m in fitted and repeats]:
        figures, seconds = [], []
        for number in range(repeats):
            started = time.perf_counter()
            again = refitted(labelled, method, fitted[method], replace(config, seed=config.seed + 1 + number))
            scores = split.measured(again.ranker, again, stack)
            seconds.append(elapsed(started))
            figures.append((100 * scores.precision, 100 * scores.recall, scores.n_plus))
        mean, spread = np.mean(figures, axis=0), np.std(figures, axis=0)
        found[method] = {key: round(float(value), 1) for key, value in zip("prn", mean, strict=True)}
        found[method]["fit_and_annotate_s"] = round(float(np.mean(seconds)), 1)
        text = ", ".join(f"{key} {m:.1f} ± {s:.1f}" for key, m, s in zip(("P", "R", "N+"), mean, spread, strict=True))
        print(f"{method} over {repeats} other draws of pairs: {text}; {np.mean(seconds):.1f} s each", flush=True)
    return found


def refitted(labelled: Labelled, method: str, found: FittedMethod, config: Config) -> FittedMethod:
    whole = Part.outside(labelled, None)
    [(_, ranker)] = RANKERS[METHODS[method].ranker](whole, config.with_only(found.chosen.settings), False)
    queries = TrainingQueries.of(whole.similarity(ranker), whole.keywords, whole.asked())
    return replace(found, ranker=ranker, rule=queries.learn([found.chosen.rule])[0])


def together(methods: Sequence[str]) -> list[list[str]]:
    """Methods that share a ranker, or the pairs it is learned from."""
    groups: dict[str, list[str]] = {}
    for method in methods:
        ranker = METHODS[method].ranker
        groups.setdefault("boosted" if ranker in ("nw_rnn", "rnn") else ranker, []).append(method)
    return list(groups.values())


def print_row(method: str, scores: KeywordScores, fitted: FittedMethod) -> None:
    published = "/".join(map(str, PUBLISHED[method])) if method in PUBLISHED else "-"
    print(
        f"{method:16}{100 * scores.precision:6.1f}{100 * scores.recall:6.1f}{100 * scores.f1:6.1f}{scores.n_plus:5}   "
        f"{published:14}{100 * fitted.chosen.scores.f1:9.1f}   {settings_text(fitted)}",
        flush=True,
    )


def settings_text(fitted: FittedMethod) -> str:
    rule = fitted.chosen.rule
    numbers = {**fitted.chosen.settings, **rule.numbers()}
    return ", ".join([rule.kind, *(f"{key} {value}" for key, value in numbers.items())])


def short(found: KeywordScores) -> dict[str, float]:
    return {"p": percent(found.precision), "r": percent(found.recall), "n": found.n_plus}


def percent(value: float) -> float:
    return round(100 * value, 1)


def elapsed(since: float) -> float:
    return time.perf_counter() - since


if __name__ == "__main__":
    main()
