"""The fusion of kernels: what it adds up, what it chooses, and that it is stored whole."""

from __future__ import annotations

import json

import numpy as np

from mediarank.base_models.clip_svm import ClipSVMConfig, train
from mediarank.evaluation.metrics import average_precision
from mediarank.systems.events.kernel_fusion import STRENGTH, KernelFusion, fit_kernel_fusion
from mediarank.types import FeatureMatrix

EVENTS = ("dance", "race")
CLIPS = [f"clip{k:03d}" for k in range(90)]
SHOWN = np.arange(90) % 3
"""0: dance, 1: race, 2: neither."""


def labels(rows: slice, exclusive: bool = True) -> dict[str, np.ndarray]:
    shown = SHOWN[rows]
    return {"dance": shown == 0, "race": shown == 1 if exclusive else shown != 2}


def matrices(noise: float = 0.5) -> dict[str, FeatureMatrix]:
    """Two types that each see a part, and one that sees nothing."""
    rng = np.random.default_rng(0)
    parts = {
        "motion": np.outer(SHOWN == 0, [1, 0, 0]) + np.outer(SHOWN == 1, [0, 0.4, 0]),
        "sound": np.outer(SHOWN == 1, [0, 1, 0]),
        "noise": np.zeros((90, 3)),
    }
    found = {}
    for name, values in parts.items():
        rows = np.maximum(values + noise * rng.random((90, 3)) + 0.1, 0).astype(np.float32)
        found[name] = FeatureMatrix(np.array(CLIPS), ("x", "y", "z"), rows)
    return found


def test_it_ranks_unseen_clips_and_says_what_it_would_have_said_of_training_clips() -> None:
    given = matrices()
    fused, held_out = fit_kernel_fusion(given, labels(slice(60)), CLIPS[:60], ClipSVMConfig())
    odds = fused.log_odds(given, CLIPS[60:])
    for column, shown in enumerate(labels(slice(60, 90)).values()):
        assert average_precision(shown, odds[:, column]) > 0.9
        assert average_precision(list(labels(slice(60)).values())[column], held_out[:, column]) > 0.8


def test_a_type_that_says_nothing_weighs_less() -> None:
    fused, _ = fit_kernel_fusion(matrices(), labels(slice(60)), CLIPS[:60], ClipSVMConfig())
    weight = dict(zip(fused.order, 1 / fused.scales, strict=True))
    assert weight["noise"] < 0.8 * min(weight["motion"], weight["sound"])


def test_held_out_scores_are_those_of_clips_that_were_not_learned_from() -> None:
    rng = np.random.default_rng(1)
    blind = FeatureMatrix(np.array(CLIPS), tuple("abcdefgh"), rng.random((90, 8), dtype=np.float32))
    shown = {"dance": rng.permutation(90) < 30}
    _, held_out = fit_kernel_fusion({"noise": blind}, shown, CLIPS, ClipSVMConfig())
    assert average_precision(shown["dance"], held_out[:, 0]) < 0.6


def test_asked_for_one_event_it_says_the_same_and_survives_storing() -> None:
    given = matrices()
    for exclusive in (True, False):
        fused, _ = fit_kernel_fusion(given, labels(slice(60), exclusive), CLIPS[:60], ClipSVMConfig())
        arrays, facts = fused.to_arrays()
        again = KernelFusion.from_arrays(arrays, json.loads(json.dumps(facts)))
        everything = fused.log_odds(given, CLIPS[60:])
        np.testing.assert_array_equal(again.log_odds(given, CLIPS[60:]), everything)
        for column, event in enumerate(EVENTS):
            alone = fused.log_odds(given, CLIPS[60:], [event])[:, 0]
            np.testing.assert_allclose(alone, everything[:, column], atol=1e-4)


def test_kernel_ridge_equals_scikit_learns_on_the_centred_kernel() -> None:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.preprocessing import KernelCenterer

    from mediarank.similarity.kernels import intersection

    matrix, shown = matrices()["motion"], labels(slice(60))["dance"]
    found = train("motion", "intersection", matrix, {"dance": shown}, CLIPS[:60], ClipSVMConfig(), None, STRENGTH)
    pool = found.classifier.pool
    ours = pool.decisions(matrix.values[60:])[:, 0]
    gram, across = (
        intersection(matrix.values[rows], matrix.values[:60]).astype(float) for rows in (slice(60), slice(60, 90))
    )
    centre = KernelCenterer().fit(gram)
    centred = centre.transform(gram)
    oracle = KernelRidge(alpha=STRENGTH * np.trace(centred) / 60, kernel="precomputed").fit(
        centred, shown - shown.mean()
    )
    theirs = oracle.predict(centre.transform(across))
    np.testing.assert_allclose(np.corrcoef(ours, theirs)[0, 1], 1, atol=1e-5)
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=1e-4)
