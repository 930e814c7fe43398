"""A folder as phones leave it: 150 pictures without a label, two in five as HEIC, in folders of years and months."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from whole_project import call, change_params, fresh_project, run

from mediarank import store
from mediarank.asking.describe import Copying
from mediarank.asking.workspace import Workspace
from mediarank.collections.demo import DemoConfig, generate
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.systems.retrieval.model import Model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
FEATURES = ("lab_thirds", "hog", "network")


def photos(folder: Path, drawn: Path) -> dict[str, str]:
    """150 drawn pictures under names that say nothing; returns the scene of each."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    labels = generate(DemoConfig(images=168, clips=8, damaged=False, seed=5), drawn)
    scenes = sorted((item, scene) for item, scene in labels.class_of.items() if item.endswith(".jpg"))
    chosen = np.random.default_rng(0).permutation(len(scenes))[:150].tolist()
    hidden = {}
    for k, place in enumerate(chosen):
        item, scene = scenes[place]
        name = f"{2019 + k % 3}/{1 + k % 12:02d}/IMG_{k:04d}.{'HEIC' if k % 5 < 2 else 'JPG'}"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with Image.open(drawn / item) as picture:
            picture.convert("RGB").save(folder / name, format="HEIF" if k % 5 < 2 else "JPEG", quality=90)
        hidden[name] = scene
    return hidden


def p10(model: Model, method: str, hidden: dict[str, str]) -> float:
    live, found = LiveRanker(model, method), []
    for query, scene in sorted(hidden.items()):
        hits = live.search(live.vectors(query), 10, leave_out=query)
        found.append(np.mean([hidden[hit.item] == scene for hit in hits]))
    return float(np.mean(found))


def test_init_run_and_search_without_a_label(tmp_path: Path) -> None:
    hidden = photos(tmp_path / "photos", tmp_path / "drawn")
    project = fresh_project(tmp_path / "project")
    params = yaml.safe_load((project / "params.yaml").read_text())
    whole = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text())
    change_params(project, "features", None, {name: whole["features"][name] for name in FEATURES})
    change_params(project, "base_models", None, {})
    retrieval = params["systems"]["retrieval"] | {"features": list(FEATURES), "unlabelled": ["network"]}
    change_params(project, "systems", None, {"retrieval": retrieval})
    looked = call(project, sys.executable, "-m", "mediarank", "init", str(tmp_path / "photos"), "--yes")
    assert "150 images" in looked
    assert "classes: none from folders" in looked
    call(project, sys.executable, "-m", "mediarank", "wire")
    run(project)
    data = project / "data"
    assert len(store.read_manifest(data / "manifest/manifest.parquet").usable) == 150, "HEIC is used like JPEG"
    assert store.read_labels(data / "manifest/labels").class_of == {}, "no class named 07"
    model = Workspace(data, Copying).model("retrieval")
    assert isinstance(model, Model)
    served, uniform = p10(model, model.served, hidden), p10(model, "uni_con", hidden)
    print(f"P@10 {served:.3f} served ({model.served}), {uniform:.3f} uni_con")
    assert served >= uniform > 1.5 / len(set(hidden.values()))
    query = min(hidden)
    printed = call(project, sys.executable, "-m", "mediarank", "search", query)
    assert f"By {model.served} of retrieval." in printed
    said = call(project, sys.executable, "-m", "mediarank", "feedback", query, "--relevant", sorted(hidden)[-1])
    assert "1 relevant" in said
