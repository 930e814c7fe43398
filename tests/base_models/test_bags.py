from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.base_models.bags import balanced_bags, shared_sample
from mediarank.types import DataError


@settings(max_examples=50, deadline=None)
@given(positives=st.integers(1, 40), negatives=st.integers(1, 40), limit=st.integers(2, 60), seed=st.integers(0, 1000))
def test_bags_are_balanced_bounded_and_without_repeats(positives: int, negatives: int, limit: int, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat([True, False], [positives, negatives]))
    bags = balanced_bags(labels, bags=3, limit=limit, rng=np.random.default_rng(seed))
    assert len(bags) == 3
    for bag in bags:
        assert len(bag) <= limit
        assert np.all(np.diff(bag) > 0)
        assert labels[bag].sum() == min(positives, limit // 2)
        assert (~labels[bag]).sum() == min(labels[bag].sum(), negatives)


def test_bags_differ_and_the_seed_decides() -> None:
    labels = np.arange(1000) < 20
    first, second = balanced_bags(labels, bags=2, limit=800, rng=np.random.default_rng(1))
    assert set(first[:20]) == set(second[:20]) == set(range(20))
    assert set(first) != set(second)
    again = balanced_bags(labels, bags=2, limit=800, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(first, again[0])


def test_more_negatives_on_request() -> None:
    bag = balanced_bags(
        np.arange(1000) < 20, bags=1, limit=800, rng=np.random.default_rng(1), negatives_per_positive=4
    )[0]
    assert (bag < 20).sum() == 20
    assert (bag >= 20).sum() == 80


@pytest.mark.parametrize("labels", [np.zeros(5, dtype=bool), np.ones(5, dtype=bool)])
def test_one_kind_is_refused(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match="both kinds"):
        balanced_bags(labels, bags=1, limit=10, rng=np.random.default_rng(0))


def test_a_shared_sample_keeps_what_rare_concepts_have() -> None:
    rare, common = np.arange(1000) < 5, np.arange(1000) >= 400
    found = shared_sample([rare, common], 100, np.random.default_rng(0))
    assert len(found) == len(set(found.tolist())) == 100
    assert np.all(np.diff(found) > 0)
    assert set(range(5)) <= set(found.tolist())
    assert common[found].sum() >= 45, "half are positives"
    assert (~common & ~rare)[found].sum() > 5, "the rest is drawn from all others"
    np.testing.assert_array_equal(found, shared_sample([rare, common], 100, np.random.default_rng(0)))
    np.testing.assert_array_equal(shared_sample([rare, common], 1000, np.random.default_rng(0)), np.arange(1000))
