"""A workspace after a whole run, made in a few seconds: tiny pictures, real working copies, real features, real models.

The stages' own functions write it; `make` fits retrieval, `add_systems` three more. dvc.lock is written with the hashes
of what lies there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cv2
import numpy as np
import pandas as pd
import yaml

from mediarank import store
from mediarank.asking.describe import Copying
from mediarank.base_models.svm import SVMConfig
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.colour_histogram import LabHistogram
from mediarank.features.hue import Hue
from mediarank.features.summary import summarise
from mediarank.labels import Labels
from mediarank.media.frames import make_working_copies, tables
from mediarank.ops.checks import summary_of, summary_of_features
from mediarank.ops.versions.lockfile import dvc_hash
from mediarank.stages import base_models, evaluation, features, systems
from mediarank.systems.annotation.config import Config as AnnotationConfig
from mediarank.systems.attributes.config import Config as AttributesConfig
from mediarank.systems.attributes.config import KernelChoice
from mediarank.systems.concepts.config import Config as ConceptsConfig
from mediarank.systems.model import Needs
from mediarank.systems.retrieval.config import Config as RetrievalConfig
from mediarank.types import Manifest, Roles

FAMILIES: Mapping[str, Extractor | LocalExtractor] = {"lab": LabHistogram(), "hue": Hue(words=8, items=4)}
COPYING = Copying()
CONFIG = RetrievalConfig(features=("lab", "hue"), methods=("uni_con", "arow"), scaling_pairs=500, instances=500)
PARAMS = """\
features:
  lab: {family: lab_histogram}
  hue: {family: hue, words: 8, items: 4}
systems:
  retrieval: {features: [lab, hue], methods: [uni_con, arow]}
promotion: {metric: {retrieval: ap}}
"""
CONCEPTS = {"heat": "fire", "water": "sea"}
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


def make(
    root: Path, items: int = 72, noise: float = 0.0, seed: int = 0, named: Mapping[int, str] = MappingProxyType({})
) -> Path:
    """
    noise : share of the labels that are given at random, so that the system gets worse
    named : number of a picture -> its file name, if it should have another than the usual one
    """
    data = root / "data"
    manifest, frames, labels, roles = collect(data, items, named)
    if noise:
        rng = np.random.default_rng(seed)
        classes = labels["classes"]
        wrong = (rng.random(len(classes)) < noise) & classes["item"].isin(
            roles.items("base", "rank", "valid")
        ).to_numpy()
        classes.loc[wrong, "class"] = rng.choice(list(HUES), int(wrong.sum()))
    store.write_table(data / "frames/frames.parquet", frames)
    sounds = pd.DataFrame({"item_id": [], "path": [], "seconds": [], "sha256": []}).astype({"item_id": str})
    store.write_table(data / "frames/sounds.parquet", sounds)
    store.write_manifest(data / "manifest/manifest.parquet", manifest)
    store.write_labels(data / "manifest/labels", labels)
    store.write_roles(data / "splits/roles.parquet", roles)
    for name, family in FAMILIES.items():
        features.run(name, family, data, root / ".mediarank/cache")
    matrices = {name: store.read_features(data / "features" / name) for name in FAMILIES}
    summary = summary_of(manifest, labels).to_json()
    store.write_json(data / "check_manifest/result.json", {"success": True, "summary": summary})
    moments = summary_of_features({name: summarise(matrix) for name, matrix in matrices.items()}).to_json()
    store.write_json(data / "check_features/result.json", {"success": True, "summary": moments})
    fit(data, "retrieval", CONFIG, Needs(tuple(FAMILIES)))
    store.write_text(data / "report/report.html", "<html></html>\n")
    lock(root)
    return root


def fit(data: Path, system: str, config: Any, needs: Needs) -> None:
    """What the stages `systems` and `evaluation` write for one system."""
    systems.run(system, config, needs, data)
    evaluation.run(system, EvaluationConfig(resamples=20), data)


def add_systems(root: Path) -> None:
    """Fit concepts, attributes and annotation in a workspace of `make`: pictures that are warm, and how warm."""
    data, types = root / "data", tuple(FAMILIES)
    items = store.read_features(data / "features/lab").ids.tolist()
    kinds = [item.split("/")[1].split("_")[0] for item in items]
    warmth = {"fire": 3.0, "leaf": 2.0, "sea": 1.0}
    words = [*kinds, *("warm" if kind == "fire" else "cold" for kind in kinds)]
    tables_of = {
        "classes": pd.DataFrame({"item": items, "class": kinds}),
        "keywords": pd.DataFrame({"item": [*items, *items], "keyword": words}),
        "concepts": pd.DataFrame(
            [
                (item, name, kind == of)
                for item, kind in zip(items, kinds, strict=True)
                for name, of in CONCEPTS.items()
            ],
            columns=["item", "concept", "relevant"],
        ),
        "orderings": pd.DataFrame(
            [("warm", kind, strength) for kind, strength in warmth.items()], columns=["attribute", "target", "strength"]
        ),
    }
    store.write_labels(data / "manifest/labels", Labels(tables_of))
    for name in types:
        base_models.run(name, SVMConfig(penalties=(2.0,), widths=(1.0,)), data)
    concepts = ConceptsConfig(
        base_models=types, methods=("mean_fusion", "imbalanced_rankboost", "forward_cascade"), rounds=10
    )
    fit(data, "concepts", concepts, Needs(types, base_models=types))
    kernels = tuple(KernelChoice(name) for name in types)
    fit(data, "attributes", AttributesConfig(kernels=kernels, folds=2, max_pairs=200), Needs(types))
    annotation = AnnotationConfig(features=types, methods=("jec", "ridge"), folds=2)
    fit(data, "annotation", annotation, Needs(types))


def collect(
    data: Path, items: int, named: Mapping[int, str] = MappingProxyType({})
) -> tuple[Manifest, pd.DataFrame, Labels, Roles]:
    """Pictures of three classes in turn: their originals, their working copies and the tables."""
    rows, copies, classes, roles = [], [], [], []
    for k in range(items):
        kind = list(HUES)[k % 3]
        item = f"images/{named.get(k, f'{kind}_{k:03d}.png')}"
        done, coded = cv2.imencode(".png", cv2.cvtColor(picture(kind, k), cv2.COLOR_RGB2BGR))
        assert done
        content = coded.tobytes()
        sha256 = hashlib.sha256(content).hexdigest()
        store.write_bytes(data / "raw/media" / item, content)
        copies.append(make_working_copies(item, data / "raw/media" / item, "image", COPYING.frames, COPYING.limits))
        for path, copy in copies[-1].contents.items():
            store.write_bytes(data / "frames/media" / path, copy)
        rows.append((item, item, "image", 48, 48, 0.0, 0.0, False, sha256, item, "ok", ""))
        classes.append((item, kind))
        roles.append((item, item, ("base", "rank", "valid", "test", "test")[(k // 3) % 5], 0))
    columns = ["item_id", "path", "kind", "width", "height", "seconds", "fps", "has_sound", "sha256", "group_id"]
    manifest = pd.DataFrame(rows, columns=[*columns, "status", "reason"]).sort_values("item_id", ignore_index=True)
    labels = Labels({"classes": pd.DataFrame(classes, columns=["item", "class"])})
    return (
        Manifest(manifest),
        tables([row for each in copies for row in each.frames], [])[0],
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
