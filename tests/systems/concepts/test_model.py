"""A concepts model is asked in one way whether it was just fitted or opened again, for one concept or all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from made_concepts import CONCEPTS, CONFIG, collection, inputs_of

from mediarank.base_models.pool import SVMPool
from mediarank.systems.concepts.fit import METHODS, fit
from mediarank.systems.concepts.model import Model
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, Parts
from mediarank.types import ConfigError, DataError


class Watched(Mapping[str, Any]):
    """Arrays that say which of them were read."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays, self.read = arrays, list[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.append(name)
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


@pytest.fixture(scope="module")
def given() -> Inputs:
    return inputs_of(*collection())


@pytest.fixture(scope="module")
def fitted(given: Inputs) -> Fitted:
    return fit(given, CONFIG)


def order(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores, kind="stable").tolist()


@pytest.mark.parametrize("method", METHODS)
def test_asking_for_one_concept_ranks_as_asking_for_all_for_no_more_work(fitted: Fitted, method: str) -> None:
    features, _, roles = collection()
    items = sorted(roles.items("test"))
    everything = fitted.model.rank(features, items, method=method)
    for column, concept in enumerate(CONCEPTS):
        answer = fitted.model.ask(features, items, concept, method)
        assert order(answer.scores) == order(everything[:, column]) == order(fitted.scores[method].values[:, column])
        one = fitted.model.rank(features, items, [concept], method)
        np.testing.assert_array_equal(one[:, 0], answer.scores)
        assert answer.possible == len(items) * 6, "three types of two bags"
        assert 0 < answer.evaluations <= answer.possible
        if "cascade" in method:
            assert answer.evaluations < 0.7 * answer.possible
        if method == "best_single":
            assert answer.evaluations == len(items)


def test_pruned_items_are_not_evaluated(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count is of rows that SVMs were really evaluated on."""
    features, _, roles = collection()
    items = sorted(roles.items("test"))
    rows: list[int] = []
    plain = SVMPool.score_rows
    monkeypatch.setattr(
        SVMPool, "score_rows", lambda self, m, p: (rows.append(len(p) * len(self)), plain(self, m, p))[1]
    )
    for method in METHODS:
        rows.clear()
        assert fitted.model.ask(features, items, "boat", method).evaluations == sum(rows)


def test_an_opened_model_answers_as_before(given: Inputs, fitted: Fitted) -> None:
    features, _, roles = collection()
    items = sorted(roles.items("test"))
    arrays, facts = fitted.model.to_arrays()
    kept = json.loads(json.dumps(facts, sort_keys=True))
    again = Model.from_arrays(arrays, kept, Parts(pools=given.pools))
    assert (again.methods, again.names, again.served) == (tuple(METHODS), CONCEPTS, fitted.model.served)
    assert again.validation == fitted.model.validation
    assert again.needs == Model.needs_of(kept) == fitted.model.needs
    for method in METHODS:
        np.testing.assert_array_equal(
            again.rank(features, items, method=method), fitted.model.rank(features, items, method=method)
        )
    assert all(array.dtype.kind in "fib" for array in arrays.values())


def test_one_concept_reads_its_own_arrays_only(given: Inputs, fitted: Fitted) -> None:
    features, _, roles = collection()
    arrays, facts = fitted.model.to_arrays()
    watched = {kind: Watched(pool.to_arrays()[0]) for kind, pool in given.pools.items()}
    pools = {kind: SVMPool.from_arrays(watched[kind], given.pools[kind].to_arrays()[1]) for kind in watched}
    own = Watched(arrays)
    model = Model.from_arrays(own, facts, Parts(pools=pools))
    model.ask(features, roles.items("test"), "fish", "forward_cascade")
    assert {name.split(".")[1] for name in own.read} == {"forward_cascade"}
    for found in watched.values():
        assert {"rows.1", "coefficients.1"} <= set(found.read)
        assert not {"rows.0", "coefficients.0"} & set(found.read)


def test_items_may_come_in_any_order_and_number(fitted: Fitted) -> None:
    features, _, roles = collection()
    items = sorted(roles.items("test"))
    mixed = [items[k] for k in np.random.default_rng(0).permutation(len(items))]
    for method in ("logistic_stacking", "forward_cascade"):
        scores = dict(zip(items, fitted.model.rank(features, items, method=method), strict=True))
        np.testing.assert_allclose(
            fitted.model.rank(features, mixed, method=method), [scores[item] for item in mixed], atol=1e-5
        )
        np.testing.assert_allclose(
            fitted.model.rank(features, items[3:4], method=method)[0], scores[items[3]], atol=1e-5
        )
        assert fitted.model.rank(features, [], method=method).shape == (0, 2)


def test_items_that_lack_a_feature_type_are_not_able(fitted: Fitted) -> None:
    features, _, _ = collection()
    short = {**features, "edges": type(features["edges"])(
        features["edges"].ids[:10], features["edges"].names, features["edges"].values[:10]
    )}  # fmt: skip
    assert fitted.model.able(short) == sorted(features["edges"].ids[:10].tolist())


def test_unknown_names_and_methods_are_refused(fitted: Fitted) -> None:
    features, _, roles = collection()
    with pytest.raises(DataError, match="unicorn"):
        fitted.model.rank(features, roles.items("test"), ["unicorn"])
    with pytest.raises(ConfigError, match="lambdamart"):
        fitted.model.rank(features, roles.items("test"), ["boat"], "lambdamart")
