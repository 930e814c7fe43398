from __future__ import annotations

import warnings

import numpy as np
import pytest
from made_pool import collection

from mediarank.base_models.svm import SVMConfig, area_under_roc
from mediarank.base_models.training import standardisation, train_pool, trainable_concepts
from mediarank.types import DataError, FeatureMatrix, Judgments

CONFIG = SVMConfig(penalties=(2.0,), widths=(1.0,))


def test_svms_rank_items_they_never_saw() -> None:
    matrix, judgments = collection()
    pool = train_pool("colour", matrix, judgments, list(matrix.ids[:100]), CONFIG).pool
    rest = matrix.ids[100:].tolist()
    scores = pool.score(matrix, rest)
    for m, (concept, _) in enumerate(pool.models):
        relevant = judgments.grades(concept, rest) > 0
        assert area_under_roc(scores.values[:, m].astype(np.float64), relevant) > 0.8


def test_a_pool_depends_on_the_base_role_alone() -> None:
    matrix, judgments = collection()
    base = list(matrix.ids[:100])
    pool = train_pool("colour", matrix, judgments, base, CONFIG).pool
    values = matrix.values.copy()
    values[100:] = 7.0
    relevant = {c: {i: g for i, g in grades.items() if i in base} for c, grades in judgments}
    other = train_pool(
        "colour",
        FeatureMatrix(matrix.ids, matrix.names, values),
        Judgments(judgments.queries, judgments.candidates, relevant),
        base[::-1],
        CONFIG,
    ).pool
    for name, array in pool.to_arrays()[0].items():
        np.testing.assert_array_equal(array, other.to_arrays()[0][name])


def test_the_number_of_workers_changes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, judgments = collection()
    pools = []
    for jobs in ("1", "2"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        pools.append(train_pool("colour", matrix, judgments, list(matrix.ids[:100]), CONFIG).pool.to_arrays()[0])
    for name in pools[0]:
        assert pools[0][name].tobytes() == pools[1][name].tobytes()


def test_a_concepts_svms_do_not_depend_on_other_concepts_but_types_draw_their_own_bags() -> None:
    matrix, judgments = collection()
    base = list(matrix.ids[:100])
    alone = Judgments(("fish",), judgments.candidates, {"fish": judgments.relevant["fish"]})
    whole = train_pool("colour", matrix, judgments, base, CONFIG).pool
    single = train_pool("colour", matrix, alone, base, CONFIG).pool
    np.testing.assert_allclose(
        single.decisions(matrix.values), whole.decisions(matrix.values)[:, whole.columns("fish")], atol=1e-5
    )
    texture = train_pool("texture", matrix, alone, base, CONFIG).pool
    assert not np.allclose(texture.decisions(matrix.values), single.decisions(matrix.values))


def test_concepts_with_too_few_positives_are_skipped_with_their_number() -> None:
    items = [f"{n}" for n in range(10)]
    relevant = {
        "none": {},
        "one": {"3": 1.0},
        "all": dict.fromkeys(items, 1.0),
        "some": dict.fromkeys(items[:4], 1.0),
    }
    judgments = Judgments(tuple(relevant), tuple(items), relevant)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert trainable_concepts(judgments, items, SVMConfig()) == ["some"]
    said = [str(w.message) for w in caught]
    assert len(said) == 3
    assert "'none' is skipped: it has 0 positives among the 10" in said[0]
    assert "'one' is skipped: it has 1 positives" in said[1]
    assert "'all' is skipped: all 10 training items" in said[2]


@pytest.mark.filterwarnings("ignore:Concept")
def test_a_collection_without_any_trainable_concept_is_refused() -> None:
    with pytest.raises(DataError, match="label more items"):
        trainable_concepts(Judgments(("one",), ("a", "b"), {"one": {"a": 1.0}}), ["a", "b"], SVMConfig())


def test_constant_columns_and_histograms_are_not_scaled() -> None:
    values = np.array([[1, 5], [3, 5]], dtype=np.float32)
    mean, scale = standardisation(values, SVMConfig())
    np.testing.assert_allclose(mean, [2, 5])
    np.testing.assert_allclose(scale, [1, 0])
    mean, scale = standardisation(values, SVMConfig(kernel="intersection"))
    np.testing.assert_allclose((values - mean) * scale, values)


def test_constant_features_still_make_a_pool() -> None:
    matrix, judgments = collection()
    flat = FeatureMatrix(matrix.ids, matrix.names, np.ones_like(matrix.values))
    pool = train_pool("flat", flat, judgments, list(matrix.ids[:100]), CONFIG).pool
    assert np.isfinite(pool.normalised(pool.decisions(flat.values))).all()


def test_training_examples_are_scored_by_svms_that_did_not_see_them() -> None:
    """With labels by chance, scores by the SVMs themselves separate their training examples; held-out ones can't."""
    matrix, _ = collection()
    ids = [str(i) for i in matrix.ids]
    rng = np.random.default_rng(0)
    chance = Judgments.from_pairs([("luck", ids[n]) for n in rng.permutation(100)[:30]], ids)
    config = SVMConfig(penalties=(100.0,), widths=(20.0,))
    trained = train_pool("colour", matrix, chance, ids[:100], config)
    held_in, honest = trained.pool.score(matrix, ids), trained.score(matrix, ids)
    in_bag = [ids[n] for n in trained.rows[0]]
    relevant = chance.grades("luck", in_bag) > 0
    assert area_under_roc(held_in.rows(in_bag)[:, 0].astype(float), relevant) > 0.95
    assert area_under_roc(honest.rows(in_bag)[:, 0].astype(float), relevant) < 0.75
    outside = [item for item in ids if item not in set(in_bag)]
    np.testing.assert_array_equal(honest.rows(outside)[:, 0], held_in.rows(outside)[:, 0])
    np.testing.assert_array_equal(trained.score(matrix, in_bag[3:5]).values[:, 0], honest.rows(in_bag[3:5])[:, 0])
    assert np.abs(honest.values).max() <= 1
