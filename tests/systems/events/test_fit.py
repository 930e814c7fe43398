from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_clips import EVENTS, inputs
from pydantic import TypeAdapter, ValidationError

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.labels import Labels
from mediarank.systems.contract import Inputs
from mediarank.systems.events import report as events_report
from mediarank.systems.events.config import CONSENSUS, DEFAULT, Config
from mediarank.systems.events.fit import fit, fit_clips, prepare
from mediarank.systems.events.model import FROZEN, REFITTED
from mediarank.types import ConfigError, FeatureMatrix, NotApplicable

QUICK = ClipSVMConfig(penalties=(1.0,), folds=3)
CONFIG = Config(base_models=("gist_frames",), svm=QUICK, repeats=2, ratios=(1 / 4, 1 / 8))
CLASSIFIERS = ("motion", "objects", "scene", "sound")
LONE = {"methods": ["consensus", "log_odds"]}
"""A mean of two methods, without the other one."""


def without(given: Inputs, feature: str) -> Inputs:
    matrix = given.features[feature]
    empty = FeatureMatrix(np.zeros(0, dtype=str), matrix.names, matrix.values[:0])
    return replace(given, features={**given.features, feature: empty})


def test_every_method_ranks_every_test_clip_for_every_event() -> None:
    given = inputs()
    fitted = fit(given, CONFIG)
    assert set(fitted.scores) == {*CLASSIFIERS, *DEFAULT}
    for matrix in fitted.scores.values():
        assert list(matrix.names) == sorted(EVENTS)
        assert matrix.ids.tolist() == sorted(given.roles.items("test"))
        matrix.require_finite()


def test_fusing_beats_the_classifiers_alone() -> None:
    given = inputs(clips=240)
    fitted = fit(given, replace(CONFIG, repeats=0))
    found = events_report.measure(fitted.scores, given.labels, EvaluationConfig(resamples=10)).metrics
    assert found["log_odds"]["map"] > max(found[name]["map"] for name in CLASSIFIERS)
    assert found["sound"]["map"] > found["scene"]["map"], "as it was made"


def test_the_same_inputs_give_the_same_model_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    first = fit(inputs(), CONFIG)
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    second = fit(inputs(), CONFIG)
    assert first.model.to_arrays()[1] == second.model.to_arrays()[1]
    assert first.figures == second.figures
    for name, array in first.model.to_arrays()[0].items():
        np.testing.assert_array_equal(array, second.model.to_arrays()[0][name])


def test_nothing_is_learned_from_test_clips() -> None:
    """Other features and labels of test clips leave the whole model as it was."""
    given = inputs()
    tested = set(given.roles.items("test"))
    plain = fit(given, replace(CONFIG, repeats=0))
    spoiled = {}
    for name, matrix in given.features.items():
        rows = np.array([i.split("#")[0] in tested for i in matrix.ids])
        spoiled[name] = FeatureMatrix(
            matrix.ids, matrix.names, np.where(rows[:, None], 1 - matrix.values, matrix.values)
        )
    table = given.labels["events"]
    other = table.assign(relevant=np.where(table["clip"].isin(tested), ~table["relevant"], table["relevant"]))
    again = fit(replace(given, features=spoiled, labels=Labels({"events": other})), replace(CONFIG, repeats=0))
    assert plain.model.to_arrays()[1] == again.model.to_arrays()[1], "the served method included"
    for name, array in plain.model.to_arrays()[0].items():
        np.testing.assert_array_equal(array, again.model.to_arrays()[0][name])


def test_frozen_classifiers_know_base_alone_and_refitted_ones_rank_as_well() -> None:
    given = inputs()
    clips = prepare(given, CONFIG)
    model, _ = fit_clips(clips, CONFIG)
    assert {m for m, which in model.uses.items() if which == REFITTED} == {"out_of_fold", "log_odds"}
    shares = {which: model.classifiers[which]["motion"].priors for which in (FROZEN, REFITTED)}
    np.testing.assert_allclose(shares[FROZEN], clips.marks(clips.base).mean(axis=0))
    np.testing.assert_allclose(shares[REFITTED], clips.marks(clips.base + clips.rank).mean(axis=0))
    frozen, _ = fit_clips(clips, replace(CONFIG, refit=False))
    assert set(frozen.classifiers) == {FROZEN} == set(frozen.uses.values())


def test_silent_clips_are_scored_and_their_sound_says_the_share() -> None:
    given = inputs(silent=12)
    clips = prepare(given, CONFIG)
    model, _ = fit_clips(clips, CONFIG)
    silent = [clip for clip in clips.test if clip not in given.features["sound"]]
    assert silent
    heard = model.classifiers[FROZEN]["sound"]
    np.testing.assert_allclose(
        heard.probabilities(given.features["sound"], silent), np.tile(heard.priors, (len(silent), 1))
    )


def test_no_clip_with_sound_at_all_leaves_the_sound_out() -> None:
    with pytest.warns(UserWarning, match="'sound' is left out"):
        fitted = fit(without(inputs(), "sound"), CONFIG)
    assert "sound" not in fitted.scores
    assert {"motion", "objects", "scene", "log_odds"} <= set(fitted.scores)


def test_a_collection_without_concepts_leaves_objects_out() -> None:
    given = inputs()
    frames = given.base_scores["gist_frames"].ids
    silent = {"gist_frames": FeatureMatrix(frames, (), np.zeros((len(frames), 0), np.float32))}
    with pytest.warns(UserWarning, match="'objects' is left out"):
        fitted = fit(replace(given, base_scores=silent), CONFIG)
    assert "objects" not in fitted.scores


def test_objects_of_a_type_without_concept_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="'hue'"):
        fit(inputs(), replace(CONFIG, base_models=("hue",)))


def test_clips_of_one_frame() -> None:
    fit(inputs(frames=1), CONFIG).scores["scene"].require_finite()


@pytest.mark.filterwarnings("ignore:The event:UserWarning", "ignore:The classifier:UserWarning")
def test_an_event_with_two_positives() -> None:
    given = inputs()
    table = given.labels["events"]
    base = [clip for clip in given.roles.items("base") if clip in given.features["sound"]][:2]
    rare = pd.DataFrame({"clip": base, "event": "rare", "relevant": True})
    more = replace(given, labels=Labels({"events": pd.concat([table, rare])}))
    fitted = fit(more, CONFIG)
    assert fitted.scores["recycling"].names == ("dance", "race", "rare")
    fitted.scores["recycling"].require_finite()
    found = events_report.measure(fitted.scores, more.labels, EvaluationConfig(resamples=10))
    assert found.metrics["recycling"]["skipped"] == 1, "no test clip shows it"


def test_an_event_with_one_positive_is_left_out_and_says_so() -> None:
    given = inputs()
    lone = pd.DataFrame({"clip": given.roles.items("base")[:1], "event": "lone", "relevant": True})
    more = replace(given, labels=Labels({"events": pd.concat([given.labels["events"], lone])}))
    with pytest.warns(UserWarning, match="'lone' is left out"):
        assert "lone" not in fit(more, CONFIG).scores["average"].names


def test_a_classifier_that_says_the_same_of_every_clip() -> None:
    given = inputs()
    matrix = given.features["motion"]
    same = FeatureMatrix(matrix.ids, matrix.names, np.full_like(matrix.values, 0.125))
    fitted = fit(replace(given, features={**given.features, "motion": same}), CONFIG)
    assert np.ptp(fitted.scores["motion"].values, axis=0).max() < 1e-6
    assert np.ptp(fitted.scores["recycling"].values, axis=0).min() > 0


def test_a_collection_without_labelled_clips_is_not_applicable() -> None:
    given = inputs()
    with pytest.raises(NotApplicable, match="role base"):
        fit(replace(given, labels=Labels({})), CONFIG)
    bare = given
    for feature in ("motion", "sound", "gist_frames"):
        bare = without(bare, feature)
    with pytest.warns(UserWarning, match="left out"), pytest.raises(NotApplicable, match="no base classifier"):
        fit(replace(bare, base_scores={}), replace(CONFIG, base_models=()))


def test_settings_are_checked_and_unknown_keys_refused() -> None:
    adapter = TypeAdapter(Config)
    assert adapter.validate_python({"svm": {"folds": 3}, "methods": ["recycling"]}).svm.folds == 3
    assert Config().features == ("motion", "gist_frames", "sound")
    assert Config(classifiers=("objects", "sound")).features == ("sound",)
    for bad in ({"method": []}, {"repeats": -1}, {"classifiers": ["smell"]}, {"svm": {"kernel": "rbf"}}):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)
    for wrong in (
        {"methods": ["cycling"]},
        {"methods": []},
        {"classifiers": []},
        {"ratios": [0.0]},
        {"serve": "best"},
        LONE,
    ):
        with pytest.raises((ConfigError, ValidationError)):
            adapter.validate_python(wrong)


def test_no_base_models_named_means_all_that_there_are() -> None:
    given = inputs()
    every = fit(given, replace(CONFIG, base_models=(), repeats=0)).model
    assert every.needs.base_models == ("gist_frames",)
    np.testing.assert_array_equal(
        fit(given, replace(CONFIG, base_models=(), repeats=0)).scores["objects"].values,
        fit(given, replace(CONFIG, repeats=0)).scores["objects"].values,
    )


def test_the_served_method_validated_best_and_params_can_pin_one() -> None:
    given = inputs(clips=180)
    model = fit(given, replace(CONFIG, repeats=0)).model
    assert model.methods == (*DEFAULT, *CLASSIFIERS)
    assert set(model.validation) == set(model.methods)
    assert model.served == CONSENSUS or model.validation[model.served] == max(model.validation.values())
    assert 0 < min(model.validation.values()) <= max(model.validation.values()) <= 1
    for pinned in ("naive", "scene"):
        assert fit(given, replace(CONFIG, repeats=0, serve=pinned)).model.served == pinned


def test_of_many_clips_each_role_but_test_uses_a_sample() -> None:
    given = inputs()
    every, few = prepare(given, CONFIG), prepare(given, replace(CONFIG, role_clips=12))
    assert (len(every.base), len(few.base), len(few.rank)) == (30, 12, 10)
    assert set(few.base) < set(every.base)
    assert (few.rank, few.test) == (every.rank, every.test)
