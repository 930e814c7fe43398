"""The base models of the concepts benchmark: trained once per split, and kept in a folder.

One file per feature type, learner and split, named by a hash of everything that decides its content: the vectors, the
labels, the roles, the settings and the code that trains. A benchmark that was stopped goes on where it stopped,
and another look at the same models costs no training.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from concepts_data import Described

import mediarank.base_models
from mediarank.base_models.pool import SVMPool
from mediarank.base_models.svm import SVMConfig
from mediarank.base_models.training import TrainedPool, train_pool
from mediarank.fanout import fan_out
from mediarank.types import Judgments, Roles

SOURCES = ("bags", "calibration", "kernel_ridge", "pool", "ridge", "svm", "training")


def model_keys(described: Described, configs: Mapping[str, SVMConfig], roles: Roles) -> list[str]:
    """The names of the files of these base models."""
    return [_key(described, kind, config, roles) for kind, config in sorted(configs.items())]


def trained_pools(
    described: Described, configs: Mapping[str, SVMConfig], roles: Roles, cache: Path | None
) -> dict[str, TrainedPool]:
    """By feature type, its base models.

    configs : feature type -> how its base models are trained
    """
    alone = {
        kind: (replace(described, features={kind: described.features[kind]}), kind, config)
        for kind, config in sorted(configs.items())
    }
    train = partial(_trained, roles=roles, cache=cache)
    ridges = [
        kind for kind in alone if configs[kind].learner == "ridge"
    ]  # SVMs of one type take all cores by themselves
    found = dict(zip(ridges, fan_out(train, [alone[kind] for kind in ridges], "regressions"), strict=True))
    return {kind: found[kind] if kind in found else train(given) for kind, given in alone.items()}


def _trained(given: tuple[Described, str, SVMConfig], roles: Roles, cache: Path | None) -> TrainedPool:
    described, kind, config = given
    kept = cache / "concepts_models" / f"{_key(described, kind, config, roles)}.npz" if cache else None
    if kept and kept.exists():
        return read_trained(kept)
    groups = dict(zip(roles.table["item_id"], roles.table["group_id"], strict=True))
    matrix, training = described.features[kind], roles.items(*config.roles)
    found = train_pool(kind, matrix, _judgments(described, config), training, config, groups)
    if kept:
        write_trained(kept, found)
    return found


def _judgments(described: Described, config: SVMConfig) -> Judgments:
    """One factorisation serves all concepts, so regressions are trained for all, also where a sample is measured."""
    return described.everything if config.learner == "ridge" else described.judgments


def _key(described: Described, kind: str, config: SVMConfig, roles: Roles) -> str:
    judgments = _judgments(described, config)
    found = hashlib.sha256(repr([kind, config, judgments.queries]).encode())
    for _, grades in judgments:
        found.update(repr(sorted(grades)).encode())
    found.update(described.features[kind].values.tobytes())
    found.update(roles.table.to_csv(index=False).encode())
    for source in SOURCES:
        found.update((Path(mediarank.base_models.__path__[0]) / f"{source}.py").read_bytes())
    return f"{kind}-{config.learner}-{found.hexdigest()[:16]}"


def write_trained(path: Path, trained: TrainedPool) -> None:
    arrays, meta = trained.pool.to_arrays()
    arrays |= {
        "items": np.array(trained.items),
        "counts": np.array([len(rows) for rows in trained.rows]),
        "bag_rows": np.concatenate(trained.rows).astype(np.int32),
        "held_out": np.concatenate(trained.held_out),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, meta=np.array(json.dumps(meta)), **arrays)
    unfinished.replace(path)


def read_trained(path: Path) -> TrainedPool:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    ends = np.cumsum(arrays["counts"])[:-1]
    return TrainedPool(
        SVMPool.from_arrays(arrays, json.loads(str(arrays["meta"]))),
        tuple(arrays["items"].tolist()),
        tuple(np.split(arrays["bag_rows"].astype(np.intp), ends)),
        tuple(np.split(arrays["held_out"], ends)),
    )
