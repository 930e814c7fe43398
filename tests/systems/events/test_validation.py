from __future__ import annotations

import numpy as np
import pytest

from mediarank.evaluation.metrics import average_precision
from mediarank.systems.events.validation import DEALINGS, RESAMPLES, Judged, Truth, choose, held_out, precisions

USES = {"average": "frozen", "meta_only": "frozen", "log_odds": "frozen"}


def made(clips: int = 60, seed: int = 0, valid: int = 20) -> tuple[Judged, Truth]:
    """Two classifiers of one event: the first is right, the second is noise."""
    rng = np.random.default_rng(seed)

    def role(count: int) -> tuple[np.ndarray, np.ndarray]:
        shown = np.arange(count) % 4 == 0
        good = np.clip(0.35 * shown + rng.uniform(0.2, 0.5, count), 0, 1)
        return np.stack([good, rng.uniform(0, 1, count)], axis=1)[:, None], shown[:, None]

    (base, base_y), (rank, rank_y), (held, held_y) = role(clips), role(clips), role(valid)
    return Judged(base, base, rank, held), Truth(base_y, rank_y, held_y, np.arange(2 * clips + valid))


def validate(
    sets: dict[str, Judged], uses: dict[str, str], alone: dict[str, np.ndarray], truth: Truth, seed: int
) -> dict[str, float]:
    scores = {method: held_out(method, sets[which], truth, seed) for method, which in uses.items()}
    scores |= {name: found[None] for name, found in alone.items()}
    return {method: float(values[0]) for method, values in precisions(scores, truth, seed).items()}


def alone(judged: Judged) -> dict[str, np.ndarray]:
    return {name: judged.honest[:, :, column] for column, name in enumerate(("good", "noise"))}


def test_equal_scores_are_not_ranked_in_the_order_of_the_clips() -> None:
    """A silent classifier, of clips whose names begin with their class."""
    shown = np.arange(60)[:, None] < 20
    same = np.full((60, 1, 1), 0.3)
    truth = Truth(shown, shown, shown[:0], np.arange(120))
    judged = Judged(same, same, same, same[:0])
    found = validate({"frozen": judged}, {}, {"silent": judged.honest[:, :, 0]}, truth, 7)
    assert 0.25 < found["silent"] < 0.65


def test_a_method_that_learns_whom_to_trust_is_ahead_and_noise_is_last() -> None:
    judged, truth = made()
    found = validate({"frozen": judged}, USES, alone(judged), truth, seed=7)
    assert list(found) == ["average", "meta_only", "log_odds", "good", "noise"]
    assert found["good"] == 1
    assert found["noise"] < 0.6
    assert found["meta_only"] > found["average"]


def test_a_fold_that_holds_all_clips_of_a_role_leaves_equal_weights() -> None:
    """One clip of `rank`: the fold with it learns nothing, the others learn from it."""
    judged, truth = made(clips=20, valid=4)
    few = Judged(judged.held_in, judged.out_of_fold, judged.unseen[:1], judged.valid)
    one = Truth(truth.base, truth.rank[:1], truth.valid, np.arange(25))
    for method in ("meta_only", "recycling", "log_odds"):
        scores = held_out(method, few, one, seed=7)
        assert np.isfinite(scores).all()
    plain = held_out("average", few, one, seed=7)[:, 20]
    np.testing.assert_allclose(held_out("meta_only", few, one, seed=7)[:, 20], plain)


def test_a_fold_is_not_learned_from() -> None:
    """Labels by chance can't be learned, however well a fusion fits those that it sees."""
    judged, truth = made(clips=40, valid=0)
    rng = np.random.default_rng(1)
    shown = rng.permutation(np.arange(40) % 4 == 0)[:, None]
    noise = rng.uniform(0, 1, (40, 1, 12))
    blind = Judged(noise, noise, noise, noise[:0])
    chance = Truth(shown, shown, shown[:0], np.arange(80))
    found = validate({"frozen": blind}, {"meta_only": "frozen"}, {}, chance, seed=7)
    assert found["meta_only"] < 0.75
    assert np.isfinite(validate({"frozen": judged}, USES, {}, truth, seed=7)["log_odds"])


def test_a_fold_keeps_groups_together() -> None:
    """Two copies of every clip, one in each role, can't be on both sides."""
    _, truth = made(clips=24, valid=0)
    rng = np.random.default_rng(3)
    noise = rng.uniform(0, 1, (24, 1, 16))
    copies = Judged(noise, noise, noise, noise[:0])
    pairs = np.concatenate([np.arange(24), np.arange(24)])
    uses = {"out_of_fold": "frozen"}
    labels = (truth.rank, truth.rank, truth.valid)
    together = validate({"frozen": copies}, uses, {}, Truth(*labels, pairs), 7)
    apart = validate({"frozen": copies}, uses, {}, Truth(*labels, np.arange(48)), 7)
    assert together["out_of_fold"] < apart["out_of_fold"]


def test_a_rare_event_is_judged_and_none_at_all_gives_zero() -> None:
    judged, truth = made()
    lone = np.zeros_like(truth.rank)
    lone[3] = True
    found = validate(
        {"frozen": judged},
        USES,
        {"good": judged.honest[:, :, 0]},
        Truth(truth.base, lone, truth.valid, truth.groups),
        7,
    )
    assert 0.5 < found["good"] <= 1
    nothing = Truth(*(np.zeros_like(marks) for marks in (truth.base, truth.rank, truth.valid)), truth.groups)
    assert set(validate({"frozen": judged}, USES, {"good": judged.honest[:, :, 0]}, nothing, 7).values()) == {0.0}


def test_scores_of_valid_are_the_mean_over_the_fusions_of_all_folds() -> None:
    judged, truth = made(clips=24, valid=6)
    found = held_out("average", judged, truth, 7)
    assert found.shape == (DEALINGS, 54, 1)
    np.testing.assert_allclose(found[:, :, 0], np.tile(judged.honest[:, 0].mean(axis=1), (DEALINGS, 1)))
    learned = held_out("log_odds", judged, truth, 7)
    assert not np.allclose(learned[0], learned[1]), "dealt anew"


def test_a_figure_is_the_average_precision_of_all_clips_and_its_error_that_over_clips() -> None:
    judged, truth = made(clips=40)
    noise = judged.honest[None, :, :, 1]
    found = precisions({"noise": noise}, truth, 7)["noise"]
    assert found.shape == (1 + RESAMPLES,)
    assert found[0] == pytest.approx(average_precision(truth.all[:, 0], noise[0, :, 0]))
    many = made(clips=640)
    steadier = precisions({"noise": many[0].honest[None, :, :, 1]}, many[1], 7)["noise"]
    assert steadier[1:].std() < 0.5 * found[1:].std(), "16 times as many clips"


def test_the_modest_method_is_served_unless_the_best_leads_by_more_than_two_standard_errors() -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, 200)

    def leading(by: float) -> np.ndarray:
        return 0.7 + by + np.append(0.0, noise)

    modest = np.full(201, 0.7)
    assert choose({"best": leading(0.03), "modest": modest, "bad": modest - 0.2}, "modest") == "modest"
    assert choose({"best": leading(0.05), "modest": modest}, "modest") == "best"
    assert choose({"best": leading(0.01), "other": modest}, "modest") == "best"
    assert choose({"a": modest, "modest": modest}, "modest") == "modest"
    assert choose({"a": modest * 0, "modest": modest * 0}, "modest") == "modest"
