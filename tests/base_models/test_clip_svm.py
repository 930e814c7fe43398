from __future__ import annotations

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy.special import expit
from sklearn.svm import SVC

from mediarank.base_models.clip_svm import ClipClassifier, ClipSVMConfig, train
from mediarank.evaluation.metrics import roc_auc
from mediarank.types import DataError, FeatureMatrix


def histograms(clips: int, seed: int = 0, frames: int = 1) -> tuple[FeatureMatrix, list[str], dict[str, np.ndarray]]:
    """Bags of eight words; two events, each with its own words."""
    rng = np.random.default_rng(seed)
    names = [f"clip{k:03d}" for k in range(clips)]
    labels = {"dance": np.arange(clips) % 4 == 0, "race": np.arange(clips) % 5 == 0}
    ids, rows = [], []
    for k, name in enumerate(names):
        for frame in range(frames):
            counts = (
                rng.gamma(1.0, size=8) + 2 * labels["dance"][k] * np.eye(8)[0] + 2 * labels["race"][k] * np.eye(8)[3]
            )
            ids.append(name if frames == 1 else f"{name}#{frame:03d}")
            rows.append(counts / counts.sum())
    return FeatureMatrix(np.array(ids), tuple("abcdefgh"), np.array(rows, np.float32)), names, labels


@pytest.mark.parametrize("kernel", ["intersection", "linear"])
def test_it_finds_the_event_in_clips_it_has_not_seen(kernel: str) -> None:
    matrix, clips, labels = histograms(120, frames=2)
    trained = train("motion", kernel, matrix, {e: y[:80] for e, y in labels.items()}, clips[:80], ClipSVMConfig())  # type: ignore[arg-type]
    found = trained.classifier.probabilities(matrix, clips[80:])
    for column, y in enumerate(labels.values()):
        assert roc_auc(y[80:], found[:, column]) > 0.8
    assert ((found > 0) & (found < 1)).all()


def noisy(matrix: FeatureMatrix, share: float, seed: int = 0) -> FeatureMatrix:
    noise = np.random.default_rng(seed).random(matrix.values.shape, np.float32)
    return FeatureMatrix(matrix.ids, matrix.names, (1 - share) * matrix.values + share * noise)


def test_held_in_scores_are_better_than_held_out_ones() -> None:
    matrix, clips, labels = histograms(80, seed=3)
    weak = noisy(matrix, 0.2)
    trained = train("motion", "intersection", weak, labels, clips, ClipSVMConfig(penalties=(10.0,)))
    y = labels["dance"]
    assert roc_auc(y, trained.held_in[:, 0]) > roc_auc(y, trained.held_out[:, 0]) + 0.1, "the gap that is recycled over"
    np.testing.assert_array_equal(trained.held_in, trained.classifier.probabilities(weak, clips))


def test_an_svm_that_is_wrong_more_often_than_right_says_nothing() -> None:
    """On noise, what is held out of one class tends to look like the other."""
    matrix, clips, labels = histograms(60, seed=3)
    y = {"dance": labels["dance"]}
    trained = train("motion", "intersection", noisy(matrix, 1.0), y, clips, ClipSVMConfig(penalties=(10.0,)))
    np.testing.assert_allclose(trained.held_in, 0.25, rtol=1e-6)


def test_a_clips_decision_is_the_mean_over_its_frames() -> None:
    matrix, clips, labels = histograms(30, frames=3)
    trained = train("scene", "linear", matrix, labels, clips, ClipSVMConfig())
    pool = trained.classifier.pool
    decisions = pool.decisions(matrix.values).reshape(30, 3, 2).mean(axis=1)
    expected = expit(decisions * pool.slopes + pool.offsets)
    np.testing.assert_allclose(trained.classifier.probabilities(matrix, clips), expected, rtol=1e-5)


def test_the_svm_is_scikit_learns() -> None:
    matrix, clips, labels = histograms(40)
    trained = train("motion", "intersection", matrix, labels, clips, ClipSVMConfig(penalties=(2.0,)))
    gram = np.minimum(matrix.values[:, None], matrix.values[None]).sum(axis=2).astype(np.float64)
    gram /= np.trace(gram) / len(gram) - gram.mean()
    oracle = SVC(C=2.0, kernel="precomputed", class_weight="balanced").fit(gram, labels["dance"])
    np.testing.assert_allclose(
        trained.classifier.pool.decisions(matrix.values)[:, 0], oracle.decision_function(gram), atol=1e-3
    )


def test_the_penalty_is_chosen_by_held_out_clips() -> None:
    matrix, clips, labels = histograms(60, seed=4)
    matrix, y = noisy(matrix, 0.3), {"dance": labels["dance"]}
    alone = {c: train("motion", "intersection", matrix, y, clips, ClipSVMConfig(penalties=(c,))) for c in (0.01, 100.0)}
    chosen = train("motion", "intersection", matrix, y, clips, ClipSVMConfig(penalties=(100.0, 0.01)))
    matches = [c for c, trained in alone.items() if np.array_equal(trained.held_out, chosen.held_out)]
    assert len(matches) == 1
    rates = {c: roc_auc(y["dance"], trained.held_out[:, 0]) for c, trained in alone.items()}
    assert rates[matches[0]] >= max(rates.values()) - 0.05, "areas are averaged over folds, so nearly the best overall"


def test_frames_of_a_clip_are_never_on_both_sides_of_a_fold() -> None:
    """Each clip's frames are alike and say nothing of its label: across folds of frames they would betray it."""
    rng = np.random.default_rng(5)
    own = np.repeat(rng.random((40, 8), np.float32), 4, axis=0)
    ids = np.array([f"clip{k:03d}#{f:03d}" for k in range(40) for f in range(4)])
    matrix = FeatureMatrix(ids, tuple("abcdefgh"), own + rng.normal(0, 0.01, own.shape).astype(np.float32))
    clips, y = [f"clip{k:03d}" for k in range(40)], np.arange(40) % 2 == 0
    trained = train("scene", "linear", matrix, {"dance": y}, clips, ClipSVMConfig(penalties=(10.0,)))
    assert roc_auc(y, trained.held_out[:, 0]) < 0.75


def test_clips_of_a_group_are_held_out_together() -> None:
    """Clips come in pairs that look the same, and looks say nothing of the event: alone, each betrays its twin."""
    rng = np.random.default_rng(6)
    looks = np.repeat(rng.random((30, 8), np.float32), 2, axis=0)
    clips, y = [f"clip{k:03d}" for k in range(60)], np.repeat(np.arange(30) % 2 == 0, 2)
    matrix = FeatureMatrix(np.array(clips), tuple("abcdefgh"), looks)
    config = ClipSVMConfig(penalties=(10.0,))
    films = {clip: f"film{k // 2}" for k, clip in enumerate(clips)}
    alone = train("motion", "intersection", matrix, {"dance": y}, clips, config)
    together = train("motion", "intersection", matrix, {"dance": y}, clips, config, films)
    assert roc_auc(y, alone.held_out[:, 0]) > 0.8
    assert roc_auc(y, together.held_out[:, 0]) < 0.75
    one_film = dict.fromkeys(clips, "film")
    assert np.isfinite(train("motion", "intersection", matrix, {"dance": y}, clips, config, one_film).held_out).all()


def test_clips_without_the_feature_get_the_events_share() -> None:
    matrix, clips, labels = histograms(40)
    heard = FeatureMatrix(matrix.ids[:30], matrix.names, matrix.values[:30])
    trained = train("sound", "intersection", heard, labels, clips, ClipSVMConfig())
    shares = [y.mean() for y in labels.values()]
    for found in (
        trained.held_in[30:],
        trained.held_out[30:],
        trained.classifier.probabilities(heard, ["never heard"]),
    ):
        np.testing.assert_allclose(found, np.tile(shares, (len(found), 1)))
    assert not np.allclose(trained.held_in[:30], shares)


def test_an_event_without_sound_gets_its_share_everywhere() -> None:
    matrix, clips, labels = histograms(40)
    heard = FeatureMatrix(matrix.ids[20:], matrix.names, matrix.values[20:])
    labels["dance"] = np.arange(40) < 2
    with pytest.warns(UserWarning, match="can't learn 'dance'"):
        trained = train("sound", "intersection", heard, labels, clips, ClipSVMConfig())
    np.testing.assert_allclose(trained.held_in[:, 0], 2 / 40)
    assert trained.held_in[20:, 1].std() > 0


def test_two_positives_are_enough_and_features_that_are_all_the_same_do_no_harm() -> None:
    matrix, clips, _ = histograms(20)
    labels = {"rare": np.arange(20) < 2}
    assert np.isfinite(train("motion", "intersection", matrix, labels, clips, ClipSVMConfig()).held_out).all()
    same = FeatureMatrix(matrix.ids, matrix.names, np.full_like(matrix.values, 0.125))
    constant = train("motion", "intersection", same, labels, clips, ClipSVMConfig()).held_in
    assert np.ptp(constant) < 1e-6


def test_no_clip_with_the_feature_is_refused() -> None:
    matrix, _, _ = histograms(4)
    with pytest.raises(DataError, match="'sound'"):
        train("sound", "intersection", matrix, {"dance": np.array([True])}, ["other"], ClipSVMConfig())


def test_it_is_the_same_after_being_kept_and_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, clips, labels = histograms(40, frames=3)
    config = ClipSVMConfig(frames=2, training_rows=60)
    trained = train("scene", "linear", matrix, labels, clips, config)
    again = ClipClassifier.from_arrays(*trained.classifier.to_arrays())
    np.testing.assert_array_equal(again.probabilities(matrix, clips), trained.held_in)
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    np.testing.assert_array_equal(train("scene", "linear", matrix, labels, clips, config).held_out, trained.held_out)


def test_settings_are_checked() -> None:
    adapter = TypeAdapter(ClipSVMConfig)
    assert adapter.validate_python({"penalties": [1]}).penalties == (1.0,)
    for bad in ({"penalties": []}, {"penalties": [-1]}, {"folds": 1}, {"frames": 0}, {"kernel": "rbf"}):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)
