"""`events`: in which clips does *landing a fish* happen? (paper 002)

Four base classifiers look at clips: motion, objects, scene and sound. They are trained on the role `base`; fusions
learn from the role `rank`, which the classifiers have not seen, and from the classifiers' scores of their own training
clips. Where classifiers may be trained again, plain stacking and our own fusion use cross-validated scores of both
roles and classifiers refitted on both. `kernel_fusion.py` fuses kernels instead of scores. `validation.py` decides
which method is served.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from mediarank.base_models.clip_rows import ClipRows
from mediarank.base_models.clip_svm import FEWEST, Trained, train
from mediarank.base_models.object_bank import object_bank
from mediarank.base_models.pool import SVMPool
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.systems.contract import Inputs
from mediarank.systems.events.config import AGREEING, CONSENSUS, KERNEL_FUSION, KERNELS, Classifier, Config
from mediarank.systems.events.consensus import Consensus
from mediarank.systems.events.event_labels import shown_events
from mediarank.systems.events.kernel_fusion import KernelFusion, fit_kernel_fusion
from mediarank.systems.events.model import FROZEN, REFITTED, Model
from mediarank.systems.events.protocol import EventScores, figure2, figure5, run_protocol
from mediarank.systems.events.validation import Judged, Truth, choose, held_out, precisions
from mediarank.systems.model import Fitted, choose_served
from mediarank.types import ConfigError, Doubles, FeatureMatrix, NotApplicable, drawn_by_lot

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Clips:
    """Clips by role, the features of the classifiers, which clips show which event, and the group of each clip."""

    base: tuple[str, ...]
    rank: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...]
    matrices: Mapping[str, FeatureMatrix]
    shown: Mapping[str, frozenset[str]]
    groups: Mapping[str, str]

    def labels(self, clips: Sequence[str]) -> dict[str, Marks]:
        """event -> which of the clips show it"""
        return {event: np.array([clip in of_event for clip in clips], bool) for event, of_event in self.shown.items()}

    def marks(self, clips: Sequence[str]) -> Marks:
        """(clips, events)"""
        return np.stack(list(self.labels(clips).values()), axis=1)


def fit(inputs: Inputs, config: Config) -> Fitted:
    """Classifiers on `base`, fusions on `rank`; every test clip is ranked for every event."""
    with threadpool_limits(1, user_api="blas"):  # the same digits on any number of cores
        clips = prepare(inputs, config)
        model, scores = fit_clips(clips, config, _object_types(inputs, config), inputs.pools)
        ids = np.array(clips.test, dtype=str)
        ranked = {
            method: FeatureMatrix(
                ids, model.names, model.fused(clips.matrices, clips.test, method=method).astype(np.float32)
            )
            for method in model.methods
        }
        return Fitted(model, ranked, _figures(scores, clips, config))


def prepare(inputs: Inputs, config: Config) -> Clips:
    """The clips to learn from and the features of the classifiers; missing ones are left out with a warning."""
    clips = sorted(set(inputs.labels["events"]["clip"]))
    found = {role: set(clips).intersection(inputs.roles.items(role)) for role in ("base", "rank", "valid", "test")}
    roles = {
        role: tuple(drawn_by_lot(sorted(members), len(members) if role == "test" else config.role_clips, config.seed))
        for role, members in found.items()
    }
    for role, members in roles.items():
        if not members and role != "valid":
            raise NotApplicable(f"events needs clips with event labels in the role {role}; there are none.")
    base = roles["base"]
    shown = shown_events(inputs.labels)
    kept = {event: members for event, members in shown.items() if _learnable(event, members, base)}
    if not kept:
        raise NotApplicable(f"No event has {FEWEST} positives and {FEWEST} negatives among the clips of role base.")
    matrices: dict[str, FeatureMatrix] = {}
    for name in config.classifiers:
        matrix = _looked_at(name, inputs, config, clips)
        if len(matrix.names) and ClipRows.of(matrix, base).clips:
            matrices[name] = matrix
        else:
            warnings.warn(
                f"The base classifier {name!r} is left out: no clip of role base has its feature.", stacklevel=2
            )
    if not matrices:
        raise NotApplicable(
            "events has no base classifier: no clip of role base has motion, objects, a scene or sound."
        )
    groups = dict(zip(inputs.roles.table["item_id"], inputs.roles.table["group_id"], strict=True))
    return Clips(**roles, matrices=matrices, shown=kept, groups=groups)


def fit_clips(
    clips: Clips, config: Config, base_models: Sequence[str] = (), pools: Mapping[str, SVMPool] | None = None
) -> tuple[Model, dict[str, EventScores]]:
    """The model, and by event the scores of the frozen classifiers for every clip.

    base_models, pools : the concept models that look for objects, which the model needs for new clips
    """
    trained = {FROZEN: _train(clips, clips.base, config)}
    marks = {role: clips.marks(getattr(clips, role)) for role in ("base", "rank", "valid", "test")}
    held_in, out_of_fold = (
        _stacked([getattr(t, k) for t in trained[FROZEN].values()]) for k in ("held_in", "held_out")
    )
    unseen, valid, test = (
        _probabilities(trained[FROZEN], clips, of_role) for of_role in (clips.rank, clips.valid, clips.test)
    )
    sets = {FROZEN: Judged(held_in, out_of_fold, unseen, valid)}
    if config.refit and any(fusion(method).source == "out_of_fold" for method in config.fusions):
        trained[REFITTED] = _train(clips, clips.base + clips.rank, config)
        again, both = (_stacked([getattr(t, k) for t in trained[REFITTED].values()]) for k in ("held_in", "held_out"))
        n = len(clips.base)
        sets[REFITTED] = Judged(again[:n], both[:n], both[n:], _probabilities(trained[REFITTED], clips, clips.valid))
    uses, weights = {}, {}
    for method in config.fusions:
        kind = fusion(method)
        uses[method] = REFITTED if REFITTED in trained and kind.source == "out_of_fold" else FROZEN
        found = sets[uses[method]]
        source = kind.of(found.held_in, found.out_of_fold)
        learned = [
            kind.make().fit(source[:, e], marks["base"][:, e], found.unseen[:, e], marks["rank"][:, e])
            for e in range(len(clips.shown))
        ]
        weights[method] = np.stack([np.append(one.weights_, one.bias_) for one in learned])
    scores = {
        event: EventScores(
            held_in[:, e], out_of_fold[:, e], marks["base"][:, e],
            unseen[:, e], marks["rank"][:, e], test[:, e], marks["test"][:, e],
        )
        for e, event in enumerate(clips.shown)
    }  # fmt: skip
    members = clips.base + clips.rank + clips.valid
    groups = np.unique([clips.groups.get(clip, clip) for clip in members], return_inverse=True)[1]
    truth = Truth(marks["base"], marks["rank"], marks["valid"], groups)
    honest = {method: held_out(method, sets[which], truth, config.seed) for method, which in uses.items()}
    kernels, consensus = None, None
    if KERNEL_FUSION in config.methods:
        kernels, of_kernels = _kernel_fusion(clips, config)
        honest[KERNEL_FUSION] = of_kernels[None]
    if CONSENSUS in config.methods:
        consensus = Consensus.fit({method: honest[method] for method in AGREEING}, truth.all)
        honest[CONSENSUS] = consensus.mean([honest[method] for method in AGREEING])
    honest |= {name: sets[FROZEN].honest[None, :, :, column] for column, name in enumerate(clips.matrices)}
    judged = precisions(honest, truth, config.seed)
    validation = {method: float(values[0]) for method, values in judged.items()}
    model = Model(
        tuple(clips.shown),
        {which: {name: t.classifier for name, t in found.items()} for which, found in trained.items()},
        uses,
        weights,
        config.looks_at,
        base_models,
        pools or {},
        validation,
        choose_served(validation, config.serve or choose(judged, CONSENSUS)),
        kernels,
        consensus,
    )
    return model, scores


def _train(clips: Clips, members: Sequence[str], config: Config) -> dict[str, Trained]:
    labels = clips.labels(members)
    return {
        name: train(name, KERNELS.get(name, "intersection"), matrix, labels, members, config.svm, clips.groups)
        for name, matrix in clips.matrices.items()
    }


def _kernel_fusion(clips: Clips, config: Config) -> tuple[KernelFusion, Doubles]:
    """The fusion of kernels, and its log-odds of the clips of `base`, `rank` and `valid`, held out."""
    members = clips.base + (clips.rank if config.refit else ())
    kernels, held_out = fit_kernel_fusion(clips.matrices, clips.labels(members), members, config.svm, clips.groups)
    others = clips.valid if config.refit else clips.rank + clips.valid
    return kernels, np.concatenate([held_out, kernels.log_odds(clips.matrices, others)])


def _probabilities(trained: Mapping[str, Trained], clips: Clips, members: Sequence[str]) -> Doubles:
    return _stacked([t.classifier.probabilities(clips.matrices[name], members) for name, t in trained.items()])


def _stacked(by_classifier: Sequence[Doubles]) -> Doubles:
    """(clips, events, classifiers)"""
    return np.stack(by_classifier, axis=2)


def _looked_at(name: Classifier, inputs: Inputs, config: Config, clips: Sequence[str]) -> FeatureMatrix:
    if name != "objects":
        return inputs.feature(config.looks_at[name])
    return object_bank({kind: inputs.base_scores[kind] for kind in _object_types(inputs, config)}, clips)


def _object_types(inputs: Inputs, config: Config) -> tuple[str, ...]:
    """The feature types whose concept models look for objects."""
    if "objects" not in config.classifiers:
        return ()
    missing = [kind for kind in config.base_models if kind not in inputs.base_scores]
    if missing:
        raise ConfigError(f"systems.events.base_models names {missing[0]!r}, which is not listed under base_models.")
    return config.base_models or tuple(sorted(inputs.base_scores))


def _learnable(event: str, members: frozenset[str], base: Sequence[str]) -> bool:
    positives = sum(clip in members for clip in base)
    if min(positives, len(base) - positives) >= FEWEST:
        return True
    warnings.warn(
        f"The event {event!r} is left out: {positives} of the {len(base)} clips of role base show it, and base "
        f"classifiers need {FEWEST} that do and {FEWEST} that don't.",
        stacklevel=2,
    )
    return False


def _figures(scores: Mapping[str, EventScores], clips: Clips, config: Config) -> dict[str, Any]:
    """The paper's figures 2, 4 and 5 on this collection, as columns; events without a test clip are left out."""
    measurable = {event: found for event, found in scores.items() if found.test_y.any()}
    if not config.repeats or not measurable or not config.fusions:
        return {}
    result = run_protocol(
        measurable, methods=config.fusions, ratios=config.ratios, repeats=config.repeats, seed=config.seed
    )
    first = next(iter(measurable.values()))
    tables = {
        "figure2": figure2(first, tuple(clips.matrices)),
        "figure4": result.figure4(),
        "figure5": figure5(first, ratio=config.ratios[0], repeats=config.repeats, seed=config.seed),
    }
    return {"event": next(iter(measurable)), **{name: table.to_dict("list") for name, table in tables.items()}}
