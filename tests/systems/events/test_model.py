"""An events model is asked in one way whether it was just fitted or opened again, for one event or all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_clips import EVENTS, FRAMES, inputs

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.labels import Labels
from mediarank.stages.base_models import fit_base_models
from mediarank.systems.contract import Inputs
from mediarank.systems.events.config import AGREEING, CONSENSUS, DEFAULT, KERNEL_FUSION, Config
from mediarank.systems.events.fit import fit, fit_clips, prepare
from mediarank.systems.events.model import Model
from mediarank.systems.model import Fitted, Parts
from mediarank.types import ConfigError, DataError, FeatureMatrix, Roles

CONFIG = Config(base_models=("gist_frames",), svm=ClipSVMConfig(penalties=(1.0,), folds=3), repeats=0)
CLASSIFIERS = ("motion", "objects", "scene", "sound")


@pytest.fixture(scope="module")
def given() -> Inputs:
    """Clips whose objects are looked for by real concept models, fitted on images beside them."""
    made = inputs()
    frames = made.features["gist_frames"]
    rng = np.random.default_rng(1)
    images = np.array([f"images/{k:03d}.png" for k in range(40)])
    values = rng.standard_normal((40, len(frames.names))).astype(np.float32)
    matrix = FeatureMatrix(np.concatenate([frames.ids, images]), frames.names, np.concatenate([frames.values, values]))
    shown = pd.DataFrame({"item": images, "concept": "boat", "relevant": values[:, 0] > 0})
    roles = Roles(pd.DataFrame({"item_id": images, "group_id": images, "role": "base", "fold": 0}))
    config = SVMConfig(penalties=(2.0,), widths=(1.0,))
    arrays, facts, scores = fit_base_models("gist_frames", matrix, Labels({"concepts": shown}), roles, config)
    features = {**made.features, "gist_frames": matrix}
    pools = {"gist_frames": SVMPool.from_arrays(arrays, facts)}
    return replace(made, features=features, pools=pools, base_scores={"gist_frames": scores})


@pytest.fixture(scope="module")
def fitted(given: Inputs) -> Fitted:
    return fit(given, CONFIG)


def opened(fitted: Fitted, pools: Mapping[str, SVMPool]) -> Model:
    arrays, facts = fitted.model.to_arrays()
    return Model.from_arrays(arrays, json.loads(json.dumps(facts, sort_keys=True)), Parts(pools=pools))


@pytest.mark.parametrize("classifiers", [CLASSIFIERS, ("objects",), ("sound", "scene")])
def test_an_opened_model_scores_as_the_stage_did(given: Inputs, classifiers: tuple[str, ...]) -> None:
    found = fit(given, replace(CONFIG, classifiers=classifiers))
    facts = json.loads(json.dumps(found.model.to_arrays()[1], sort_keys=True))
    needs = Model.needs_of(facts)
    assert needs.base_models == (("gist_frames",) if "objects" in classifiers else ())
    model = opened(found, {kind: given.pools[kind] for kind in needs.base_models})
    assert model.needs == needs == found.model.needs
    assert model.methods == (*DEFAULT, *classifiers)
    assert (model.names, model.served) == (EVENTS, found.model.served)
    for method in model.methods:
        recorded = found.scores[method]
        clips = recorded.ids.tolist()
        np.testing.assert_allclose(model.rank(given.features, clips, method=method), recorded.values, atol=1e-4)
        alone = model.rank(given.features, clips[3:4], method=method)
        np.testing.assert_allclose(alone[0], recorded.values[3], atol=1e-4)


def test_asking_for_one_event_scores_as_asking_for_all(given: Inputs, fitted: Fitted) -> None:
    clips = given.roles.items("test")[::-1]
    for method in fitted.model.methods:
        everything = fitted.model.rank(given.features, clips, method=method)
        for column, event in enumerate(EVENTS):
            answer = fitted.model.ask(given.features, clips, event, method)
            np.testing.assert_allclose(answer.scores, everything[:, column], atol=1e-4)
            assert answer.possible == 4 * len(clips)
            compared = len(EVENTS) if fitted.model.kernels.share else 1
            times = {KERNEL_FUSION: 4 * compared, CONSENSUS: 4 + 4 * compared, **dict.fromkeys(CLASSIFIERS, 1)}
            assert answer.evaluations == times.get(method, 4) * len(clips)
    swapped = fitted.model.rank(given.features, clips, EVENTS[::-1])
    np.testing.assert_allclose(swapped[:, ::-1], fitted.model.rank(given.features, clips), atol=1e-4)
    assert fitted.model.rank(given.features, clips, []).shape == (len(clips), 0)


class Watched(Mapping[str, Any]):
    """Arrays that say which of them were read."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays, self.read = arrays, list[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.append(name)
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


def test_one_event_of_one_classifier_reads_nothing_else(given: Inputs, fitted: Fitted) -> None:
    """No concept model is opened, and no SVM of another event, classifier or set."""
    arrays, facts = fitted.model.to_arrays()
    watched, pools = Watched(arrays), Watched(given.pools)
    model = Model.from_arrays(watched, facts, Parts(pools=pools))
    model.ask(given.features, given.roles.items("test"), "race", "sound")
    assert not pools.read
    used = {name for name in watched.read if "vectors" in name or "rows" in name or "coefficients" in name}
    assert used == {"frozen.sound.vectors", "frozen.sound.rows.1", "frozen.sound.coefficients.1"}


def test_clips_are_asked_about_and_images_are_not(given: Inputs, fitted: Fitted) -> None:
    able = fitted.model.able(given.features)
    assert able == sorted(given.features["motion"].ids.tolist())
    assert len(able) > len(given.features["sound"]), "a clip without sound can be asked about"
    blind = fit(given, replace(CONFIG, classifiers=("scene",))).model
    frames = {"gist_frames": inputs().features["gist_frames"]}
    assert len(frames["gist_frames"]) == FRAMES * len(able)
    assert blind.able(frames) == able


def test_a_fused_score_is_the_weighted_sum_of_the_classifiers(given: Inputs) -> None:
    clips = prepare(given, CONFIG)
    model, scores = fit_clips(clips, CONFIG)
    for e, event in enumerate(model.names):
        weights = model.weights["recycling"][e]
        expected = scores[event].test @ weights[:-1] + weights[-1]
        fused = model.fused(clips.matrices, clips.test, [event], "recycling")
        np.testing.assert_allclose(fused[:, 0], expected, atol=1e-4)
        for column, name in enumerate(clips.matrices):
            alone = model.fused(clips.matrices, clips.test, [event], name)[:, 0]
            np.testing.assert_allclose(alone, scores[event].test[:, column], atol=1e-5)


def test_the_consensus_is_the_weighted_sum_of_two_fusions(given: Inputs, fitted: Fitted) -> None:
    clips, model = given.roles.items("test"), fitted.model
    both = [model.rank(given.features, clips, method=method) for method in AGREEING]
    expected = both[0] * model.consensus.weights[0] + both[1] * model.consensus.weights[1]
    np.testing.assert_allclose(model.rank(given.features, clips, method=CONSENSUS), expected, rtol=1e-9)
    assert (model.consensus.weights > 0.01).all(), "both know something"


def test_unknown_events_methods_and_missing_concept_models_are_refused(given: Inputs, fitted: Fitted) -> None:
    clips = given.roles.items("test")
    with pytest.raises(DataError, match="unicorn"):
        fitted.model.rank(given.features, clips, ["unicorn"])
    with pytest.raises(ConfigError, match="smell"):
        fitted.model.rank(given.features, clips, method="smell")
    with pytest.raises(DataError, match="gist_frames"):
        opened(fitted, {}).rank(given.features, clips, method="objects")
