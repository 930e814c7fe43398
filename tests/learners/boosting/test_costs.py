from __future__ import annotations

import numpy as np
import pytest

from mediarank.learners.boosting.costs import Costs, relative_costs
from mediarank.types import DataError


def example() -> Costs:
    return Costs(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([10.0, 20.0]))


def test_a_feature_is_paid_for_once_and_a_model_once() -> None:
    costs = example()
    prices = costs.prices()
    assert prices.tolist() == [11, 12, 24]
    costs.pay(prices, 1)
    assert prices.tolist() == [1, 0, 24]
    costs.pay(prices, 0)
    costs.pay(prices, 0)
    assert prices.tolist() == [0, 0, 24]
    costs.pay(prices, 2)
    assert prices.tolist() == [0, 0, 0]
    assert costs.own.tolist() == [1, 2, 4]


def test_scaling_makes_the_mean_price_one() -> None:
    assert example().scaled_to_mean().prices().mean() == pytest.approx(1)
    assert Costs.of_models([0.0, 0.0]).scaled_to_mean().prices().tolist() == [0, 0]


def test_by_default_all_cost_the_same() -> None:
    assert relative_costs(None, 3).prices().tolist() == [1, 1, 1]
    assert relative_costs(example(), 3).prices().tolist() == pytest.approx([33 / 47, 36 / 47, 72 / 47])


@pytest.mark.parametrize("own", [[1.0, -1.0], [1.0, np.nan], [np.inf]])
def test_costs_that_make_no_sense_are_refused(own: list[float]) -> None:
    with pytest.raises(DataError, match="finite"):
        Costs.of_models(own)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="name one of 1 features"):
        Costs(np.ones(2), np.array([0, 1]), np.ones(1))
    with pytest.raises(DataError, match="4 models but costs of 3"):
        relative_costs(example(), 4)
