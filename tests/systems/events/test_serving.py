"""A served events model gives the scores that the system gave, also to clips without sound or one at a time."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_clips import FRAMES, inputs

from mediarank.base_models.clip_svm import ClipSVMConfig
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.labels import Labels
from mediarank.stages.base_models import fit_base_models
from mediarank.systems.contract import Inputs
from mediarank.systems.events import fit as events
from mediarank.systems.events import serving as events_serving
from mediarank.systems.events.fit import EventsConfig
from mediarank.types import FeatureMatrix, Roles

CONFIG = EventsConfig(base_models=("gist_frames",), svm=ClipSVMConfig(penalties=(1.0,), folds=3), repeats=0)


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


@pytest.mark.parametrize("classifiers", [("motion", "objects", "scene", "sound"), ("objects",), ("sound", "scene")])
def test_scores_are_those_of_the_stage(given: Inputs, classifiers: tuple[str, ...]) -> None:
    outcome = events.run(given, replace(CONFIG, classifiers=classifiers))
    facts = json.loads(json.dumps(outcome.facts, sort_keys=True))
    pools = {name: given.pools[name] for name in events_serving.base_models(facts)}
    assert set(pools) == ({"gist_frames"} if "objects" in classifiers else set())
    served = events_serving.serve(outcome.arrays, facts, {}, pools)
    assert served.method == "blended_log_odds"
    assert set(served.features) == set(events_serving.needs(facts))
    recorded = outcome.scores[served.method]
    clips = sorted(recorded.names)
    columns = [recorded.names.index(clip) for clip in clips]
    assert list(served.names) == recorded.ids.tolist()
    np.testing.assert_allclose(served.rank(given.features, clips), recorded.values[:, columns].T, atol=1e-5)
    alone = served.rank(given.features, clips[3:4])
    np.testing.assert_allclose(alone[0], recorded.values[:, columns[3]], atol=1e-5)


def test_clips_are_asked_about_and_images_are_not(given: Inputs) -> None:
    outcome = events.run(given, CONFIG)
    served = events_serving.serve(outcome.arrays, outcome.facts, {}, given.pools)
    able = served.able(given.features)
    assert able == sorted(given.features["motion"].ids.tolist())
    silent = given.features["sound"]
    assert len(able) > len(silent), "a clip without sound can be asked about"
    blind = events.run(given, replace(CONFIG, classifiers=("scene",)))
    frames = {"gist_frames": inputs().features["gist_frames"]}
    assert len(frames["gist_frames"]) == FRAMES * len(able)
    assert events_serving.serve(blind.arrays, blind.facts, {}).able(frames) == able


def test_the_papers_own_fusion_is_next() -> None:
    assert events_serving.method({}, {"uses": {"average": "frozen", "recycling": "frozen"}}) == "recycling"
    assert events_serving.method({}, {"uses": {"average": "frozen"}}) == "average"
