"""The weighted mean of two methods: the louder does not outweigh the other, the worse does, and it is kept whole."""

from __future__ import annotations

import numpy as np

from mediarank.evaluation.metrics import average_precision
from mediarank.systems.events.consensus import Consensus

Scores = dict[str, np.ndarray]


def made(seed: int = 0, clips: int = 400, noise: tuple[float, float] = (0.8, 0.8)) -> tuple[Scores, np.ndarray]:
    """Two events and two methods with errors of their own; the second method's scores are a hundred times as large."""
    rng = np.random.default_rng(seed)
    shown = rng.random((clips, 2)) < 0.2
    quiet, loud = (shown + error * rng.standard_normal((2, clips, 2)) for error in noise)
    return {"quiet": quiet, "loud": 100 * loud}, shown


def says(consensus: Consensus, scores: Scores) -> np.ndarray:
    """How much of the consensus each method makes: (methods, events)."""
    return np.stack([scores[name].std(axis=(0, 1)) for name in consensus.of]) * consensus.weights


def test_two_equally_good_methods_count_alike_and_are_better_together() -> None:
    scores, shown = made()
    consensus = Consensus.fit(scores, shown)
    assert consensus.of == ("quiet", "loud")
    quiet, loud = says(consensus, scores)
    np.testing.assert_allclose(quiet, loud, rtol=0.2)
    together = consensus.mean([scores[name][0] for name in consensus.of])
    for event in range(2):
        alone = [average_precision(shown[:, event], scores[name][0, :, event]) for name in consensus.of]
        assert average_precision(shown[:, event], together[:, event]) > max(alone)


def test_a_worse_method_counts_less_and_few_clips_hardly_move_the_weights() -> None:
    scores, shown = made(noise=(0.5, 2.0))
    quiet, loud = says(Consensus.fit(scores, shown), scores)
    assert (quiet > 3 * loud).all()
    few = {name: found[:, :6] for name, found in scores.items()}
    quiet, loud = says(Consensus.fit(few, shown[:6]), few)
    assert (quiet < 3 * loud).all(), "shrunk to equal weights"


def test_a_method_that_is_wrong_gets_no_weight_and_two_of_them_the_same() -> None:
    scores, shown = made()
    wrong = {"quiet": scores["quiet"], "loud": -scores["loud"]}
    weights = Consensus.fit(wrong, shown).weights
    assert (weights[0] > 0).all()
    assert (weights[1] == 0).all()
    both = {name: -found for name, found in scores.items()}
    quiet, loud = says(Consensus.fit(both, shown), both)
    np.testing.assert_allclose(quiet, loud)
    assert (quiet > 0).all()


def test_some_events_score_as_all_do_and_storing_changes_nothing() -> None:
    scores, shown = made(clips=50)
    consensus = Consensus.fit(scores, shown)
    again = Consensus.from_arrays(*consensus.to_arrays())
    everything = consensus.mean(list(scores.values()))
    np.testing.assert_array_equal(again.mean([found[..., [1]] for found in scores.values()], [1]), everything[..., [1]])


def test_a_method_that_is_silent_about_one_event_has_its_say_about_the_other() -> None:
    scores, shown = made(noise=(2.0, 0.5))
    scores["loud"][:, :, 0] = -2.2
    consensus = Consensus.fit(scores, shown)
    assert consensus.weights[1, 0] == 0
    quiet, loud = says(consensus, scores)
    assert loud[1] > 2 * quiet[1], "by the clips of the event that it speaks about"


def test_events_of_another_level_do_not_disturb_what_is_learned() -> None:
    scores, shown = made()
    moved = {"quiet": scores["quiet"] + np.array([0.0, 50.0]), "loud": scores["loud"]}
    np.testing.assert_allclose(Consensus.fit(moved, shown).weights, Consensus.fit(scores, shown).weights, rtol=1e-6)
