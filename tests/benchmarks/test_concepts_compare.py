"""Timed curves of the concepts benchmark, and the numbers that summarise two of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from concepts_compare import gain_at, speed_up, trace
from made_concepts import CONFIG, collection, inputs_of

from mediarank.base_models.concept import ConceptModels
from mediarank.evaluation.metrics import average_precision
from mediarank.systems.concepts.figures import FULL, Trace
from mediarank.systems.concepts.fit import fit
from mediarank.systems.concepts.model import Model


def line(concept: str, costs: list[float], precision: list[float]) -> Trace:
    cost = np.array(costs, dtype=np.float64)
    return Trace(concept, cost, cost, cost * 10, {100: np.array(precision) / 2, FULL: np.array(precision)})


SLOW = [line("boat", [1, 2, 4], [0.2, 0.4, 0.5]), line("fish", [1, 3, 8], [0.1, 0.2, 0.3])]
QUICK = [line("boat", [1, 1.5], [0.3, 0.6]), line("fish", [1, 2], [0.1, 0.4])]


def test_a_trace_notes_what_the_walk_did() -> None:
    features, judgments, roles = collection()
    given = inputs_of(features, judgments, roles)
    model = fit(given, replace(CONFIG, methods=("forward_cascade",))).model
    assert isinstance(model, Model)
    items = sorted(roles.items("test"))
    relevant = judgments.grades("boat", items) > 0
    models = ConceptModels.of(given.pools, "boat")
    plan = model.plans["forward_cascade"]["boat"]
    found = trace(plan, models, features, items, relevant, depths=(10, FULL), repeats=2)
    answer = model.ask(features, items, "boat")
    assert found.precision[FULL][-1] == pytest.approx(average_precision(relevant, answer.scores))
    assert found.precision[10][-1] == pytest.approx(average_precision(relevant, answer.scores, k=10))
    assert found.evaluations[-1] == pytest.approx(answer.evaluations / len(items))
    assert found.kernel_evaluations[-1] > found.evaluations[-1]
    assert found.evaluations[0] == 1
    assert len(found.seconds) == len(plan)
    assert np.all(np.diff(found.seconds) > 0)
    assert np.all(np.diff(found.evaluations) >= 0)


def test_speed_up_and_gain_by_hand() -> None:
    # 99 % of the slow one's best, .4, is reached at 8 by itself and at 2 by the other.
    assert speed_up(SLOW, QUICK, "seconds", FULL) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "kernel_evaluations", 100) == pytest.approx(4)
    assert speed_up(SLOW, QUICK, "seconds", FULL, share=0.5) == pytest.approx(2 / 1)
    assert speed_up(QUICK, SLOW, "seconds", FULL) == 0.0
    assert gain_at(SLOW, QUICK, "seconds", FULL, 2.0) == pytest.approx(0.5 / 0.25 - 1)
    assert np.isnan(gain_at(SLOW, QUICK, "seconds", FULL, 0.5))
