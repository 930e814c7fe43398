"""UT-Zap50K as paper 004 measures it: two sets of pairs, each with its own split of pairs, not of images.

`zap50k-1` has ordinary pairs and ten splits of them into training and test pairs (`train-test-splits.mat`); figures are
means over the splits. `zap50k-2` learns from all ordinary pairs and is tested on fine-grained ones. An image may be in
training and in test pairs; both kinds of pairs are kept. Each attribute is learned by itself, from its own pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attributes_data import Described

from mediarank.collections.matlab import read_mat
from mediarank.collections.names import Names
from mediarank.collections.sources import open_collection
from mediarank.collections.zap50k import ATTRIBUTES, find, judged_pairs, numbered_images
from mediarank.evaluation.pairs import listed_pair_accuracy
from mediarank.labels import Labels
from mediarank.systems.attributes.config import Config
from mediarank.systems.attributes.fit import fit_model
from mediarank.systems.contract import Inputs
from mediarank.types import DataError, Roles

Pairs = list[tuple[str, str]]
"""The stronger item first."""


def splits(folder: Path, most: int = 10) -> Iterator[tuple[str, str, Pairs, Pairs]]:
    """(set, attribute, training pairs, test pairs) of every split. most : splits of the first set"""
    images = numbered_images(folder, Names(open_collection(folder).files))

    def ordered(path: Path, judgment: str) -> dict[str, Pairs]:
        pairs: dict[str, Pairs] = {}
        for attribute, first, second, relation in judged_pairs(path, images, (judgment,)):
            if relation == ">":
                pairs.setdefault(attribute, []).append((first, second))
        return pairs

    plain, fine = (find(folder, name) for name in ("zappos-labels.mat", "zappos-labels-fg.mat"))
    listed = find(folder, "train-test-splits.mat")
    if not plain or not listed:
        raise DataError(f"{folder} lacks zappos-labels.mat or train-test-splits.mat; both are in ut-zap50k-data.zip.")
    known = ordered(plain[0], "mturkOrder")
    hard = ordered(fine[0], "mturkHard") if fine else {}
    indices = read_mat(listed[0], "trainIndexAll", "testIndexAll")
    for place, attribute in enumerate(ATTRIBUTES):
        if attribute not in known:
            continue
        own = known[attribute]
        learned, asked = (_by_split(indices[name], place) for name in ("trainIndexAll", "testIndexAll"))
        for train, test in list(zip(learned, asked, strict=True))[:most]:
            yield "zap50k-1", attribute, [own[n] for n in train], [own[n] for n in test]
        if attribute in hard:
            yield "zap50k-2", attribute, own, hard[attribute]


def measure(
    data: Described, found: Iterable[tuple[str, str, Pairs, Pairs]], config: Config
) -> dict[str, dict[str, dict[str, float]]]:
    """set -> method -> attribute -> % of test pairs in order, as a mean over splits."""
    shares: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, attribute, train, test in found:
        for method, share in one_split(data, attribute, train, test, config).items():
            row = method.removeprefix("only_")
            shares.setdefault(name, {}).setdefault(row, {}).setdefault(attribute, []).append(100 * share)
    return {
        name: {method: {a: float(np.mean(v)) for a, v in own.items()} for method, own in rows.items()}
        for name, rows in shares.items()
    }


def one_split(data: Described, attribute: str, train: Pairs, test: Pairs, config: Config) -> dict[str, float]:
    """method -> share of the test pairs in order, learned from the training pairs alone."""
    rows = [(attribute, first, second, ">") for first, second in train]
    labels = Labels({"pairs": pd.DataFrame(rows, columns=["attribute", "first", "second", "relation"])})
    items, asked = (sorted({item for pair in pairs for item in pair}) for pairs in (train, test))
    model = fit_model(Inputs(data.features, labels, _roles(data, items)), items, without_classes(config))
    place = {item: number for number, item in enumerate(asked)}
    first, second = (np.array([place[pair[side]] for pair in test]) for side in (0, 1))
    return {
        method: listed_pair_accuracy(model.rank(data.features, asked, [attribute], method)[:, 0], first, second)
        for method in model.methods
    }


def without_classes(config: Config) -> Config:
    return replace(config, methods=tuple(name for name in config.methods if not name.startswith("posterior")))


def _roles(data: Described, items: Sequence[str]) -> Roles:
    groups = [data.group_of[item] for item in items]
    return Roles(pd.DataFrame({"item_id": items, "group_id": groups, "role": "base", "fold": 0}))


def _by_split(cells: Any, place: int) -> list[list[int]]:
    """The positions that each split names, from MATLAB's cell of attributes of splits, which counts from 1."""
    own = np.asarray(cells).ravel(order="F")[place]
    return [(np.asarray(cell).ravel().astype(int) - 1).tolist() for cell in np.asarray(own).ravel(order="F")]
