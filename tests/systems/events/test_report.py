from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from made_clips import inputs

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.evaluation.report import Report, render
from mediarank.systems.events import report as events_report
from mediarank.systems.events.config import Config
from mediarank.systems.events.event_labels import shown_events
from mediarank.systems.events.fit import fit
from mediarank.systems.results import SystemResult
from mediarank.types import FeatureMatrix

QUICK = ClipSVMConfig(penalties=(1.0,), folds=3)
CONFIG = Config(
    base_models=("gist_frames",), svm=QUICK, repeats=3, ratios=(1 / 4, 1 / 8), methods=("recycling", "log_odds")
)


def test_a_perfect_ranking_has_a_perfect_measure() -> None:
    given = inputs()
    shown, clips = shown_events(given.labels), sorted(given.roles.items("test"))
    right = np.array([[clip in of_event for of_event in shown.values()] for clip in clips], np.float32)
    scores = {
        "right": FeatureMatrix(np.array(clips), tuple(shown), right),
        "wrong": FeatureMatrix(np.array(clips), tuple(shown), 1 - right),
    }
    found = events_report.measure(scores, given.labels, EvaluationConfig(resamples=10)).metrics
    assert found["right"]["map"] == found["right"]["f1"] == 1
    assert found["wrong"]["map"] < 0.5


def test_the_section_shows_methods_rankings_and_the_papers_figures() -> None:
    given = inputs()
    fitted = fit(given, CONFIG)
    facts, figures = (json.loads(json.dumps(v, sort_keys=True)) for v in (fitted.model.to_arrays()[1], fitted.figures))
    measured = events_report.measure(fitted.scores, given.labels, EvaluationConfig(resamples=10))
    result = SystemResult(fitted.scores, measured, given.labels, facts, figures)
    section = events_report.section(result, lambda item: None, 4)
    page = render(Report("test", [], [section]))
    for words in ("Figure 4", "Figure 5", "Figure 2", "By event at r = 0.125", "dance", "recycled training clips"):
        assert words in page
    bare = fit(given, replace(CONFIG, repeats=0))
    assert bare.figures == {}
    shorter = events_report.section(replace(result, scores=bare.scores, figures={}), lambda item: None, 4)
    assert len(shorter.blocks) == len(section.blocks) - 1  # the folded part
