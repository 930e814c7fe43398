"""A workspace after a whole run, made in a second or two: tiny pictures, real features, a real fitted retrieval system.

What the stages would write is written by calling what they call; dvc.lock is written with the hashes of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import yaml

from mediarank import store
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_histogram import LabHistogram
from mediarank.features.hue import Hue
from mediarank.features.matrix import build
from mediarank.features.summary import summarise
from mediarank.labels import Labels
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.ops.checks import summary_of, summary_of_features
from mediarank.ops.models.packing import Preparation
from mediarank.ops.versions.lockfile import dvc_hash
from mediarank.systems.contract import Inputs
from mediarank.systems.retrieval import fit as retrieval
from mediarank.systems.retrieval import report as retrieval_report
from mediarank.systems.retrieval.fit import RetrievalConfig
from mediarank.types import Manifest, Roles

FAMILIES: Mapping[str, Extractor | LocalExtractor] = {"lab": LabHistogram(), "hue": Hue(words=8, items=4)}
PREPARATION = Preparation(FAMILIES, FramesConfig(), Limits())
CONFIG = RetrievalConfig(features=("lab", "hue"), methods=("uni_con", "arow"), scaling_pairs=500, instances=500)
PARAMS = """\
features:
  lab: {family: lab_histogram}
  hue: {family: hue, words: 8, items: 4}
systems:
  retrieval: {features: [lab, hue], methods: [uni_con, arow]}
promotion: {metric: {retrieval: ap}}
"""
HUES = {"fire": 5, "leaf": 60, "sea": 110}


def picture(kind: str, seed: int) -> np.ndarray[Any, Any]:
    """48 × 48 RGB of one hue, more or less, with a bright patch."""
    rng = np.random.default_rng(seed)
    hsv = np.empty((48, 48, 3), np.uint8)
    hsv[..., 0] = np.clip(HUES[kind] + rng.normal(0, 18, (48, 48)), 0, 179)
    hsv[..., 1] = rng.integers(80, 255, (48, 48))
    hsv[..., 2] = rng.integers(60, 200, (48, 48))
    y, x = rng.integers(0, 30, 2)
    hsv[y : y + 12, x : x + 12, 2] = 255
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


def make(root: Path, items: int = 72, noise: float = 0.0, seed: int = 0) -> Path:
    """noise : share of the labels that are given at random, so that the system gets worse"""
    data = root / "data"
    manifest, frames, labels, roles = collect(data, items)
    if noise:
        rng = np.random.default_rng(seed)
        classes = labels["classes"]
        wrong = (rng.random(len(classes)) < noise) & classes["item"].isin(
            roles.items("base", "rank", "valid")
        ).to_numpy()
        classes.loc[wrong, "class"] = rng.choice(list(HUES), int(wrong.sum()))
    sounds = pd.DataFrame({"item_id": [], "path": [], "seconds": [], "sha256": []}).astype({"item_id": str})
    cache = FeatureCache(root / ".mediarank/cache/features")
    matrices = {n: build(f, frames, sounds, data / "frames/media", roles, cache) for n, f in FAMILIES.items()}
    store.write_table(data / "frames/frames.parquet", frames)
    store.write_table(data / "frames/sounds.parquet", sounds)
    store.write_manifest(data / "manifest/manifest.parquet", manifest)
    store.write_roles(data / "splits/roles.parquet", roles)
    for name, matrix in matrices.items():
        store.write_features(data / "features" / name, matrix)
    summary = summary_of(manifest, labels).to_json()
    store.write_json(data / "check_manifest/result.json", {"success": True, "summary": summary})
    moments = summary_of_features({name: summarise(matrix) for name, matrix in matrices.items()}).to_json()
    store.write_json(data / "check_features/result.json", {"success": True, "summary": moments})
    outcome = retrieval.run(Inputs(matrices, labels, roles), CONFIG)
    store.write_outcome(data / "systems/retrieval", outcome.arrays, outcome.facts, outcome.scores)
    measured = retrieval_report.measure(outcome.scores, labels, EvaluationConfig(resamples=50))
    folder = data / "evaluation/retrieval"
    store.write_measured(folder, measured.metrics, measured.summary, measured.per_query, measured.curves)
    store.write_text(data / "report/report.html", "<html></html>\n")
    lock(root)
    return root


def collect(data: Path, items: int) -> tuple[Manifest, pd.DataFrame, Labels, Roles]:
    """Pictures of three classes in turn: their originals, which are their working copies, too, and the tables."""
    rows, seen, classes, roles = [], [], [], []
    for k in range(items):
        kind = list(HUES)[k % 3]
        item = f"images/{kind}_{k:03d}.png"
        done, coded = cv2.imencode(".png", cv2.cvtColor(picture(kind, k), cv2.COLOR_RGB2BGR))
        assert done
        content = coded.tobytes()
        sha256 = hashlib.sha256(content).hexdigest()
        for folder in ("raw/media", "frames/media"):
            store.write_bytes(data / folder / item, content)
        rows.append((item, item, "image", 48, 48, 0.0, 0.0, False, sha256, item, "ok", ""))
        seen.append((item, item, "image", 0, 0.0, item, 48, 48, sha256, 0))
        classes.append((item, kind))
        roles.append((item, item, ("base", "rank", "valid", "test", "test")[(k // 3) % 5], 0))
    columns = ["item_id", "path", "kind", "width", "height", "seconds", "fps", "has_sound", "sha256", "group_id"]
    manifest = pd.DataFrame(rows, columns=[*columns, "status", "reason"]).sort_values("item_id", ignore_index=True)
    columns = ["frame_id", "item_id", "kind", "index", "seconds", "path", "width", "height", "sha256", "phash"]
    frames = pd.DataFrame(seen, columns=columns)
    labels = Labels({"classes": pd.DataFrame(classes, columns=["item", "class"])})
    return (
        Manifest(manifest),
        frames,
        labels,
        Roles(pd.DataFrame(roles, columns=["item_id", "group_id", "role", "fold"])),
    )


def lock(root: Path) -> None:
    """dvc.yaml, params.yaml and dvc.lock of what lies in the workspace."""
    plain = ("data/raw/media", "data/manifest/manifest.parquet", "data/check_manifest/result.json")
    plain += ("data/check_features/result.json", "data/features/lab", "data/features/hue", "data/report/report.html")
    stages = {
        "all": _stage(root, *plain),
        "systems@retrieval": _stage(root, "data/systems/retrieval"),
        "evaluation@retrieval": _stage(
            root, *(f"data/evaluation/retrieval/{n}" for n in ("metrics.json", "per_query.parquet"))
        ),
    }
    each = {"foreach": "${systems}", "do": {"cmd": "run"}}
    (root / "params.yaml").write_text(PARAMS)
    (root / "dvc.yaml").write_text(
        yaml.safe_dump({"stages": {"all": {"cmd": "run"}, "systems": each, "evaluation": each}})
    )
    (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))


def _stage(root: Path, *outs: str) -> dict[str, Any]:
    return {"cmd": "run", "outs": [{"path": out, "md5": dvc_hash(root / out)} for out in outs]}
