from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC

from mediarank.base_models.svm import GRIDS, Bag, SVMConfig, area_under_roc, fit_svm, stratified_folds


def bag(seed: int = 0, n: int = 60, gap: float = 0.8, gammas: tuple[float, ...] = (0.02, 0.1, 0.5)) -> Bag:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) < n // 2
    values = (rng.normal(size=(n, 5)) + gap * labels[:, None]).astype(np.float32)
    return Bag(("boat", 0), np.arange(n), values, labels, np.arange(n), gammas, seed=(seed,))


def test_it_chooses_and_fits_what_scikit_learn_would() -> None:
    config = SVMConfig(penalties=(2.0,))
    examples = bag()
    svm = fit_svm(examples, config)
    folds = stratified_folds(examples.labels, 3, np.random.default_rng(examples.seed))
    which = np.zeros(60, dtype=int)
    for number, held in enumerate(folds):
        which[held] = number
    search = GridSearchCV(
        SVC(kernel="rbf"), {"gamma": [0.02, 0.1, 0.5], "C": [2.0]}, scoring="roc_auc", cv=PredefinedSplit(which)
    ).fit(examples.values.astype(np.float64), examples.labels)
    assert svm.area == pytest.approx(search.best_score_)
    peer = SVC(kernel="rbf", gamma=svm.gamma, C=svm.penalty).fit(examples.values.astype(np.float64), examples.labels)
    np.testing.assert_array_equal(svm.support, peer.support_)
    # libsvm stops at its own tolerance, so float32 distances may change the result within that.
    np.testing.assert_allclose(svm.coefficients, peer.dual_coef_[0], atol=0.02)
    assert svm.intercept == pytest.approx(peer.intercept_[0], abs=1e-2)


def test_the_penalty_is_chosen_at_the_best_gamma() -> None:
    examples = bag(seed=5)
    svm = fit_svm(examples, SVMConfig(penalties=(0.1, 1.0, 10.0)))
    at_middle = fit_svm(examples, SVMConfig(penalties=(1.0,)))
    assert svm.gamma == at_middle.gamma
    alone = {c: fit_svm(bag(seed=5, gammas=(svm.gamma,)), SVMConfig(penalties=(c,))).area for c in (0.1, 1, 10)}
    assert svm.area == alone[svm.penalty] == max(alone.values())


def test_held_out_decisions_are_of_svms_that_did_not_see_the_example() -> None:
    hopeless = fit_svm(bag(gap=0.0, n=120, gammas=(5.0,)), SVMConfig(penalties=(100.0,)))
    assert hopeless.area < 0.7  # the same svm separates its training examples perfectly


@pytest.mark.parametrize("kernel", ["linear", "intersection", "exponential_chi2"])
def test_other_kernels(kernel: str) -> None:
    rng = np.random.default_rng(3)
    labels = np.arange(40) < 20
    values = rng.random((40, 6)).astype(np.float32)
    values[:20, 0] += 1
    svm = fit_svm(
        Bag(("boat", 0), np.arange(40), values, labels, np.arange(40), (1.0,), (0,)), SVMConfig(kernel=kernel)
    )
    a, b = values[:, None], values[None]
    gram = {
        "linear": values @ values.T,
        "intersection": np.minimum(a, b).sum(axis=2),
        "exponential_chi2": np.exp(-((a - b) ** 2 / (a + b)).sum(axis=2)),
    }[kernel]
    decisions = gram[:, svm.support] @ svm.coefficients + svm.intercept
    assert area_under_roc(decisions, labels) > 0.95


def test_the_smoother_svm_wins_ties() -> None:
    svm = fit_svm(bag(gap=50.0, gammas=(1e-3, 1e-4)), SVMConfig(penalties=(4.0, 1.0)))
    assert (svm.gamma, svm.penalty) == (1e-4, 1.0)


def test_folds_hold_both_kinds_and_each_example_once() -> None:
    labels = np.arange(50) < 7
    folds = stratified_folds(labels, 3, np.random.default_rng(0))
    assert sorted(np.concatenate(folds).tolist()) == list(range(50))
    assert [int(labels[held].sum()) for held in folds] == [3, 2, 2]
    assert len(stratified_folds(np.arange(9) < 2, 3, np.random.default_rng(0))) == 2
    assert stratified_folds(np.arange(9) < 1, 3, np.random.default_rng(0)) == []


def test_a_single_positive_is_fitted_without_folds() -> None:
    svm = fit_svm(
        Bag(
            ("boat", 0),
            np.arange(2),
            np.eye(2, 1, dtype=np.float32),
            np.eye(2, dtype=bool)[0],
            np.arange(2),
            (1.0,),
            (0,),
        ),
        SVMConfig(minimum_positives=1),
    )
    assert svm.area == 0.5
    assert len(svm.support) == 2


def test_area_counts_ties_half() -> None:
    decisions, labels = np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, False, True, False])
    assert area_under_roc(decisions, labels) == roc_auc_score(labels, decisions) == 0.875


def test_each_learner_has_its_usual_grid() -> None:
    assert (SVMConfig().penalties, SVMConfig().widths) == GRIDS["svm"]
    ridge = SVMConfig(learner="ridge", widths=(3.0,))
    assert (ridge.penalties, ridge.widths) == (GRIDS["ridge"][0], (3.0,))


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        SVMConfig(widths=(1.0, -1.0))


def test_groups_are_held_out_together() -> None:
    """Copies of an example in another fold make noise look like knowledge."""
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.random(30) < 0.5, 4)
    values = np.repeat(rng.normal(size=(30, 8)), 4, axis=0).astype(np.float32)
    groups = np.repeat(np.arange(30), 4)
    config = SVMConfig(penalties=(100.0,))
    alone, together = (
        fit_svm(Bag(("luck", 0), np.arange(120), values, labels, g, (1.0,), (0,)), config).area
        for g in (np.arange(120), groups)
    )
    assert alone > 0.95
    assert together < 0.75
