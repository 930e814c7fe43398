"""What the annotation benchmark measures on, and what it has measured: distances and results are kept in the cache.

`Split` holds the training and test images of a collection, with distances by every feature type. `measure` fits methods
to the training images and keeps, for each, the scores of held-out and of test images. A run that is cut short goes on
where it was: what is kept is found by the vectors, the settings and the sources that made it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from annotation_types import Described
from kept_results import digest, source_digest, store

from mediarank.evaluation.keywords import KeywordScores
from mediarank.learners.neighbours.keyword_scores import KeywordRule, TrainingQueries
from mediarank.learners.neighbours.keywords import Keywords
from mediarank.learners.neighbours.neighbour_rankers import NeighbourRanker
from mediarank.learners.pairwise.image_folds import deal_folds
from mediarank.similarity.distance_stack import stack_distances
from mediarank.systems.annotation.config import METHODS, Config
from mediarank.systems.annotation.fit import effect_of_k
from mediarank.systems.annotation.image_words import words_of
from mediarank.systems.annotation.images import Labelled, Part
from mediarank.systems.annotation.methods import (
    FittedMethod,
    Tried,
    choose,
    fit_methods,
    mean_scores,
    tried_on,
)
from mediarank.systems.annotation.rankers import RANKERS

SOURCES = (
    *(f"systems/annotation/{name}.py" for name in ("config", "images", "methods", "rankers")),
    *(f"similarity/{name}.py" for name in ("distances", "distance_stack", "rank_levels", "kernels", "nearest")),
    "learners/neighbours", "learners/boosting/pair_rankboost.py", "base_models/kernel_ridge.py",
    "evaluation/keywords.py",
)  # fmt: skip
"""What results depend on; where one of these files changes, everything is measured anew."""


@dataclass(frozen=True)
class Result:
    """A method's scores and how they came about.

    held_out : per fold, scores (images, words) of its held-out images; test : scores of the test images
    settings : what cross-validation chose
    by_rule : how the two rules of choosing do on folds that they did not choose on; see `rules_compared`
    seconds : to fit, choose and annotate, shared with methods of one ranker
    """

    held_out: Sequence[np.ndarray]
    test: np.ndarray
    settings: str
    seconds: float
    by_rule: Mapping[str, Sequence[float]] = field(default_factory=dict)
    effect_of_k: Sequence[Mapping[str, float]] = ()


class Split:
    """Training and test images of a collection and their words. words : that occur in both parts"""

    def __init__(self, described: Described, config: Config, cache: Path) -> None:
        self.described, self.config, self.cache = described, config, cache
        labelled = set(described.labels["keywords"]["item"])
        self.train, self.test = (
            sorted(item for item in described.roles.items(*roles) if item in labelled)
            for roles in (("base", "rank", "valid"), ("test",))
        )
        group_of = dict(zip(described.roles.table["item_id"], described.roles.table["group_id"], strict=True))
        self.fold_of = deal_folds(
            [None] * len(self.train), config.folds, config.seed, [group_of[item] for item in self.train]
        )
        rng = np.random.default_rng([config.seed, 0])
        self.asked = np.sort(rng.choice(len(self.train), config.queries_among(len(self.train)), replace=False))
        true = words_of(described.labels, [*self.train, *self.test])
        parts = [{word for item in items for word in true[item]} for items in (self.train, self.test)]
        self.words = sorted(set.intersection(*parts))
        self.keywords = Keywords.of(self.train, true, self.words)
        self.true = Keywords.of(self.test, true, self.words).rows

    @cached_property
    def vectors(self) -> str:
        """A digest of all vectors, words and folds."""
        found = hashlib.sha256(repr((self.train, self.test, self.words, self.fold_of.tolist())).encode())
        for name in self.config.features:
            found.update(self.described.features[name].values.tobytes())
        found.update(self.keywords.rows.tobytes())
        return found.hexdigest()

    @cached_property
    def labelled(self) -> Labelled:
        """Distances among training images."""
        found = (self._distances(k, "train") for k in range(len(self.config.features)))
        return Labelled.of_distances(found, len(self.config.features), self.keywords, self.fold_of, self.asked)

    @cached_property
    def stack(self) -> np.ndarray:
        """Distances of test images to training images."""
        return np.stack([self._distances(k, "test") for k in range(len(self.config.features))])

    @cached_property
    def held_out_words(self) -> list[np.ndarray]:
        """Keyword rows of each fold's held-out images; a fold that holds out no word is left out."""
        folds = self.fold_of[self.asked]
        rows = [self.keywords.rows[self.asked[folds == fold]] for fold in np.unique(self.fold_of)]
        return [held for held in rows if held.any()]

    def _distances(self, k: int, part: str) -> np.ndarray:
        """(queries, training images) by one feature type; computed once."""
        matrix, measure = self.described.features[self.config.features[k]], self.config.measures[k]
        known = matrix.rows(self.train)
        asked = matrix.rows(self.test) if part == "test" else known[self.asked]
        key = digest(asked.tobytes() + known.tobytes() + measure.encode())
        kept = self.cache / "distances" / f"{key}.npy"
        if not kept.exists():
            same = part == "train" and len(asked) == len(known)
            store(kept, lambda file: np.save(file, stack_distances([known if same else asked], [known], [measure])[0]))
        return np.load(kept)

    def annotated(self, ranker: NeighbourRanker, rule: KeywordRule) -> np.ndarray:
        """Scores of the test images."""
        blocks = range(0, len(self.test), 128)
        return np.concatenate(
            [rule.scores(ranker.similarity(self.stack[:, b : b + 128]), self.keywords) for b in blocks]
        )


def measure(split: Split, methods: Sequence[str]) -> dict[str, Result]:
    """Every method, from the cache or fitted now; methods that share what they learn are fitted together."""
    sources = source_digest(SOURCES)
    kept = {method: split.cache / "results" / f"{_key(split, method, sources)}.npz" for method in methods}
    for group in together([method for method in methods if not kept[method].exists()]):
        started = time.perf_counter()
        fitted = fit_methods(split.labelled, group, split.config)
        tests = {method: split.annotated(found.ranker, found.rule) for method, found in fitted.items()}
        seconds = time.perf_counter() - started
        for method, found in fitted.items():
            facts = {"settings": settings_text(found), "seconds": seconds, "k": effect_of_k({method: found})}
            rule = {"kind": found.chosen.rule.kind, **found.chosen.rule.numbers()}
            facts |= {"ranker": dict(found.chosen.settings), "rule": rule}
            facts["by_rule"] = rules_compared(found.tried)
            arrays = {f"fold_{n}": scores for n, scores in enumerate(found.chosen.held_out_scores())}
            arrays |= {"test": tests[method], "facts": np.array(json.dumps(facts))}
            store(kept[method], lambda file, arrays=arrays: np.savez(file, **arrays))
        print(f"  {', '.join(group)}: {seconds:.0f} s", flush=True)
    return {method: _read(kept[method]) for method in methods}


def drawn_again(split: Split, method: str, draws: int) -> list[np.ndarray]:
    """Test scores of a boosted method on other draws of pairs, with the settings chosen for the first one."""
    sources = source_digest(SOURCES)
    first = _facts(split.cache / "results" / f"{_key(split, method, sources)}.npz")
    scores = []
    for number in range(draws):
        seed = split.config.seed + 1 + number
        kept = split.cache / "results" / f"{_key(split, f'{method} drawn {seed}', sources)}.npy"
        if not kept.exists():
            config = replace(split.config.with_only(first["ranker"]), seed=seed)
            ranker, rule = refitted(split.labelled, method, KeywordRule(**first["rule"]), config)
            store(kept, lambda file, ranker=ranker, rule=rule: np.save(file, split.annotated(ranker, rule)))
        scores.append(np.load(kept))
    return scores


def refitted(
    labelled: Labelled, method: str, chosen: KeywordRule, config: Config
) -> tuple[NeighbourRanker, KeywordRule]:
    """A method's ranker and rule, fitted with settings that are known."""
    whole = Part.outside(labelled, None)
    [(_, ranker)] = RANKERS[METHODS[method].ranker](whole, config, False)
    [rule] = TrainingQueries.of(whole.similarity(ranker), whole.keywords, whole.asked()).learn([chosen])
    return ranker, rule


def together(methods: Sequence[str]) -> list[list[str]]:
    """Methods that share a ranker, or the weights that it is built on."""
    groups: dict[str, list[str]] = {}
    for method in methods:
        groups.setdefault(METHODS[method].ranker.removeprefix("kcca_"), []).append(method)
    return list(groups.values())


def rules_compared(tried: Sequence[Tried]) -> dict[str, list[float]]:
    """rule -> P, R, F1 in %, as means over folds, of what it chooses by the other folds.

    `balanced` is `choose`: the most balanced of those within a standard error; `highest` is the highest F1.
    """
    found: dict[str, list[KeywordScores]] = {"balanced": [], "highest": []}
    for fold in range(len(tried[0].by_fold)):
        others = [tried_on([s for n, s in enumerate(t.by_fold) if n != fold], t.settings, t.rule) for t in tried]
        chosen = {"balanced": choose(others), "highest": max(others, key=lambda one: one.scores.f1)}
        for rule, one in chosen.items():
            found[rule].append(tried[next(n for n, other in enumerate(others) if other is one)].by_fold[fold])
    means = {rule: mean_scores(scores) for rule, scores in found.items()}
    return {rule: [round(100 * x, 2) for x in (m.precision, m.recall, m.f1)] for rule, m in means.items()}


def settings_text(fitted: FittedMethod) -> str:
    rule = fitted.chosen.rule
    numbers = {**fitted.chosen.settings, **rule.numbers()}
    return ", ".join([rule.kind, *(f"{key} {value}" for key, value in numbers.items())])


def _key(split: Split, method: str, sources: str) -> str:
    settings = replace(split.config, methods=("jec",))
    return f"{method.replace(' ', '_')}_{digest(repr((method, settings, split.vectors, sources)).encode())}"


def _read(path: Path) -> Result:
    facts = _facts(path)
    with np.load(path) as arrays:
        folds = [arrays[f"fold_{n}"] for n in range(sum(name.startswith("fold_") for name in arrays))]
        return Result(folds, arrays["test"], facts["settings"], facts["seconds"], facts["by_rule"], facts["k"])


def _facts(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        found: dict[str, Any] = json.loads(str(arrays["facts"]))
    return found
