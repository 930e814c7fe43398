from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_pool import collection
from sklearn.svm import SVC

from mediarank.base_models.pool import BLOCK, SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import train_pool
from mediarank.types import DataError, FeatureMatrix


def pool_of(kernel: str, **settings: object) -> tuple[SVMPool, FeatureMatrix]:
    matrix, judgments = collection()
    config = SVMConfig(kernel=kernel, **settings)  # type: ignore[arg-type]
    return train_pool("colour", matrix, judgments, list(matrix.ids[:100]), config).pool, matrix


def svm_by_svm(pool: SVMPool, values: np.ndarray) -> np.ndarray:
    """The definition, in float64: a sum over each svm's own support vectors."""
    x = (values.astype(np.float64) - pool.mean) * pool.scale
    out = np.zeros((len(x), len(pool)))
    for m in range(len(pool)):
        for coefficient, vector in zip(pool.coefficients[:, m], pool.vectors, strict=True):
            if coefficient == 0:
                continue
            if pool.kernel == "rbf":
                kernel = np.exp(-pool.gammas[m] * ((x - vector) ** 2).sum(axis=1))
            elif pool.kernel == "exponential_chi2":
                kernel = np.exp(-pool.gammas[m] * ((x - vector) ** 2 / (x + vector)).sum(axis=1))
            elif pool.kernel == "intersection":
                kernel = np.minimum(x, vector).sum(axis=1)
            else:
                kernel = x @ vector
            out[:, m] += coefficient * kernel
    return out + pool.intercepts


@pytest.mark.parametrize("kernel", ["rbf", "exponential_chi2", "intersection", "linear"])
def test_decisions_equal_the_sum_over_each_svms_vectors(kernel: str) -> None:
    pool, matrix = pool_of(kernel)
    np.testing.assert_allclose(pool.decisions(matrix.values), svm_by_svm(pool, matrix.values), atol=1e-4)


def test_decisions_equal_scikit_learns() -> None:
    pool, matrix = pool_of("rbf", penalties=(2.0,), widths=(1.0,))
    prepared = ((matrix.values - pool.mean) * pool.scale).astype(np.float64)
    for m in range(len(pool)):
        svm = SVC(kernel="rbf", gamma=float(pool.gammas[m]), C=2.0)
        used = pool.coefficients[:, m] != 0
        svm.fit(pool.vectors[used].astype(np.float64), pool.coefficients[used, m] > 0)
        # Refitted on its own support vectors a svm is what it was.
        np.testing.assert_allclose(pool.decisions(matrix.values)[:, m], svm.decision_function(prepared), atol=5e-3)


def test_blocks_do_not_change_anything() -> None:
    pool, matrix = pool_of("rbf")
    many = np.tile(matrix.values, (4, 1))
    assert len(many) > 2 * BLOCK
    whole = pool.decisions(many)
    np.testing.assert_allclose(whole, np.concatenate([pool.decisions(many[:7]), pool.decisions(many[7:])]), atol=1e-5)
    assert pool.decisions(many[:0]).shape == (0, len(pool))


def test_support_vectors_are_kept_once() -> None:
    pool, _ = pool_of("rbf")
    assert len(np.unique(pool.vectors, axis=0)) == len(pool.vectors)
    assert pool.coefficients.any(axis=1).all()
    assert pool.support_counts.sum() == np.count_nonzero(pool.coefficients) > len(pool.vectors)


def test_a_part_of_a_pool_decides_the_same() -> None:
    pool, matrix = pool_of("rbf")
    columns = pool.columns("fish")
    assert columns == [2, 3]
    part = pool.only(columns)
    assert part.concepts == ("fish",)
    assert len(part.vectors) < len(pool.vectors)
    np.testing.assert_allclose(part.decisions(matrix.values), pool.decisions(matrix.values)[:, columns], atol=1e-5)
    np.testing.assert_array_equal(part.support_counts, pool.support_counts[columns])


def test_normalised_scores_span_the_base_role_and_are_clipped_elsewhere() -> None:
    pool, matrix = pool_of("rbf")
    base = pool.normalised(pool.decisions(matrix.values[:100]))
    np.testing.assert_allclose(base.min(axis=0), -1, atol=1e-5)
    np.testing.assert_allclose(base.max(axis=0), 1, atol=1e-5)
    wild = pool.normalised(pool.decisions(matrix.values) * 100)
    assert wild.min() == -1
    assert wild.max() == 1
    assert base.dtype == np.float32


def test_constant_decisions_are_normalised_to_a_constant() -> None:
    pool, _ = pool_of("rbf")
    flat = replace(pool, low=np.zeros_like(pool.low), high=np.zeros_like(pool.high))
    scores = flat.normalised(np.zeros((3, len(pool)), dtype=np.float32))
    assert np.all(scores == -1)


def test_probabilities_are_calibrated_and_ordered_like_decisions() -> None:
    pool, matrix = pool_of("rbf")
    decisions = pool.decisions(matrix.values)
    probabilities = pool.probabilities(decisions)
    assert np.all((probabilities > 0) & (probabilities < 1))
    assert np.all(pool.slopes > 0)
    for m in range(len(pool)):
        assert np.all(np.diff(probabilities[np.argsort(decisions[:, m]), m]) >= 0)
    # 20 of 150 items are relevant to each concept; the sigmoid knows that the bag's half is not the collection's.
    assert 0.05 < probabilities.mean() < 0.3


def test_scores_are_found_by_id() -> None:
    pool, matrix = pool_of("rbf")
    items = [str(matrix.ids[n]) for n in (140, 3, 99)]
    scores = pool.score(matrix, items)
    assert scores.ids.tolist() == items
    assert scores.names[:2] == ("boat|0", "boat|1")
    np.testing.assert_allclose(
        scores.rows(items[1:2])[0], pool.normalised(pool.decisions(matrix.values[3:4]))[0], atol=1e-5
    )


def test_scores_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, matrix = pool_of("rbf")
    big = FeatureMatrix(np.array([f"{n:05d}" for n in range(1500)]), matrix.names, np.tile(matrix.values, (10, 1)))
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    serial = pool.score(big, big.ids.tolist()).values
    monkeypatch.setenv("MEDIARANK_JOBS", "3")
    assert serial.tobytes() == pool.score(big, big.ids.tolist()).values.tobytes()


def test_arrays_keep_the_pool() -> None:
    pool, matrix = pool_of("rbf")
    again = SVMPool.from_arrays(*pool.to_arrays())
    np.testing.assert_array_equal(again.decisions(matrix.values), pool.decisions(matrix.values))
    np.testing.assert_array_equal(again.coefficients, pool.coefficients)
    assert again.models == pool.models
    with pytest.raises(DataError, match="lacks per_model"):
        SVMPool.from_arrays({k: v for k, v in pool.to_arrays()[0].items() if k != "per_model"}, pool.to_arrays()[1])


def test_other_features_are_refused() -> None:
    pool, _ = pool_of("rbf")
    with pytest.raises(DataError, match="trained on 6 features"):
        pool.decisions(np.zeros((2, 5), dtype=np.float32))


@pytest.mark.parametrize("kernel", ["rbf", "exponential_chi2", "intersection", "linear"])
def test_a_stored_pool_reads_the_coefficients_of_one_concept(kernel: str) -> None:
    pool, matrix = pool_of(kernel)
    arrays, meta = pool.to_arrays()
    kept = {name: values for name, values in arrays.items() if not name.endswith((".0", ".2"))}
    with pytest.raises(DataError, match=r"lacks coefficients\.0"):
        SVMPool.from_arrays(kept, meta)

    class Lazy(dict):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> np.ndarray:
            assert not name.endswith((".0", ".2")), "arrays of other concepts are not read"
            return dict.__getitem__(self, name)

    part = SVMPool.from_arrays(Lazy(arrays), meta).of("fish")
    assert part.concepts == ("fish",)
    whole = pool.of("fish")
    np.testing.assert_array_equal(part.vectors, whole.vectors)
    np.testing.assert_array_equal(part.decisions(matrix.values), whole.decisions(matrix.values))
    assert len(SVMPool.from_arrays(arrays, meta).of("unicorn")) == 0
