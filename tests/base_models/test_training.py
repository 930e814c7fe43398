from __future__ import annotations

import warnings

import numpy as np
import pytest
from made_pool import collection

from mediarank.base_models.svm import SVMConfig, area_under_roc
from mediarank.base_models.training import fit_pool, standardisation, trainable_concepts
from mediarank.types import DataError, FeatureMatrix, Judgments

CONFIG = SVMConfig(penalties=(2.0,), widths=(1.0,))


def test_svms_rank_items_they_never_saw() -> None:
    matrix, judgments = collection()
    pool = fit_pool("colour", matrix, judgments, list(matrix.ids[:100]), CONFIG)
    rest = matrix.ids[100:].tolist()
    scores = pool.score(matrix, rest)
    for m, (concept, _) in enumerate(pool.models):
        relevant = judgments.grades(concept, rest) > 0
        assert area_under_roc(scores.values[:, m].astype(np.float64), relevant) > 0.8


def test_a_pool_depends_on_the_base_role_alone() -> None:
    matrix, judgments = collection()
    base = list(matrix.ids[:100])
    pool = fit_pool("colour", matrix, judgments, base, CONFIG)
    values = matrix.values.copy()
    values[100:] = 7.0
    relevant = {c: {i: g for i, g in grades.items() if i in base} for c, grades in judgments}
    other = fit_pool(
        "colour",
        FeatureMatrix(matrix.ids, matrix.names, values),
        Judgments(judgments.queries, judgments.candidates, relevant),
        base[::-1],
        CONFIG,
    )
    for name, array in pool.to_arrays()[0].items():
        np.testing.assert_array_equal(array, other.to_arrays()[0][name])


def test_the_number_of_workers_changes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, judgments = collection()
    pools = []
    for jobs in ("1", "2"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        pools.append(fit_pool("colour", matrix, judgments, list(matrix.ids[:100]), CONFIG).to_arrays()[0])
    for name in pools[0]:
        assert pools[0][name].tobytes() == pools[1][name].tobytes()


def test_a_concepts_svms_do_not_depend_on_other_concepts_but_types_draw_their_own_bags() -> None:
    matrix, judgments = collection()
    base = list(matrix.ids[:100])
    alone = Judgments(("fish",), judgments.candidates, {"fish": judgments.relevant["fish"]})
    whole = fit_pool("colour", matrix, judgments, base, CONFIG)
    single = fit_pool("colour", matrix, alone, base, CONFIG)
    np.testing.assert_allclose(
        single.decisions(matrix.values), whole.decisions(matrix.values)[:, whole.columns("fish")], atol=1e-5
    )
    texture = fit_pool("texture", matrix, alone, base, CONFIG)
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
    assert "'all' is skipped: all 10 items" in said[2]


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
    pool = fit_pool("flat", flat, judgments, list(matrix.ids[:100]), CONFIG)
    assert np.isfinite(pool.normalised(pool.decisions(flat.values))).all()
