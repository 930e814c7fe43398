from __future__ import annotations

import numpy as np
import pytest
from made_pool import collection

from mediarank.base_models.concept import ConceptModels, Questions, score_concept
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import train_pool
from mediarank.types import DataError, FeatureMatrix

CONFIG = SVMConfig(penalties=(2.0,), widths=(1.0,))


@pytest.fixture(scope="module")
def trained() -> tuple[dict[str, SVMPool], dict[str, FeatureMatrix]]:
    features = {"texture": collection(1)[0], "colour": collection(0)[0]}
    judgments = collection(0)[1]
    base = list(features["colour"].ids[:100])
    return {name: train_pool(name, matrix, judgments, base, CONFIG).pool for name, matrix in features.items()}, features


def test_svms_are_ordered_by_type_and_bag_and_score_as_their_pools(
    trained: tuple[dict[str, SVMPool], dict[str, FeatureMatrix]],
) -> None:
    pools, features = trained
    models = ConceptModels.of(pools, "fish")
    assert models.names == ("colour|0", "colour|1", "texture|0", "texture|1")
    items = [str(i) for i in features["colour"].ids[100:130]]
    expected = np.hstack(
        [
            pools[kind].score(features[kind], items).values[:, pools[kind].columns("fish")]
            for kind in ("colour", "texture")
        ]
    )
    np.testing.assert_allclose(score_concept(pools, "fish", features, items), expected, atol=1e-5)
    some = score_concept(pools, "fish", features, items, wanted=[1, 2])
    np.testing.assert_allclose(some[:, [1, 2]], expected[:, [1, 2]], atol=1e-5)
    assert not some[:, [0, 3]].any()


def test_questions_reach_only_the_items_asked_about_and_are_counted(
    trained: tuple[dict[str, SVMPool], dict[str, FeatureMatrix]],
) -> None:
    pools, features = trained
    models = ConceptModels.of(pools, "boat")
    items = [str(i) for i in features["colour"].ids[::-1]]
    ask = Questions(models, features, items)
    answer = ask(2, np.array([5, 0]))
    np.testing.assert_allclose(answer, score_concept(pools, "boat", features, [items[5], items[0]])[:, 2], atol=1e-6)
    assert ask.kernel_evaluations == 2 * int(models.svms[2].support_counts[0]) > 0


def test_costs_are_counted_in_support_vectors(
    trained: tuple[dict[str, SVMPool], dict[str, FeatureMatrix]],
) -> None:
    models = ConceptModels.of(trained[0], "sky")
    counts = np.array([svm.support_counts[0] for svm in models.svms])
    np.testing.assert_allclose(models.scoring_seconds() / models.scoring_seconds()[0], counts / counts[0])
    assert (models.scoring_seconds() > 0).all()


def test_a_concept_without_svms_is_explained(
    trained: tuple[dict[str, SVMPool], dict[str, FeatureMatrix]],
) -> None:
    with pytest.raises(DataError, match="too few positives"):
        ConceptModels.of(trained[0], "unicorn")
