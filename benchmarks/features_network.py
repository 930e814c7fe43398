"""The family `network` against a plain loop over onnxruntime, from working copies on disk to vectors, on one core.

The peer is what one would write: Pillow opens and resizes a file, and the same graph runs on batches of the size that
suits it best. Both sides are timed in turns by processor time, best of several. `layer_quality` compares the settings
of the family by what they find on Corel 5K.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
from features_corel import read_corel
from PIL import Image

from mediarank.features.cache import FeatureCache
from mediarank.features.describe import extract_rows
from mediarank.features.feature_type import FeatureType
from mediarank.features.network import Network
from mediarank.features.network_model import default_graph, open_session
from mediarank.media.shards import Media
from mediarank.media.working import encode_picture, fit_inside, read_picture
from mediarank.similarity.distances import cosine_distances

COUNT = 96
BATCHES = (1, 4, 16)
SIDE = 320
"""Of working copies, as in params.yaml."""


def network_speed(pictures: list[np.ndarray], rounds: int) -> dict[str, float]:
    """network_per_s : pictures per core and second; network_ratio : of the peer's speed; both with decoding"""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        frames = write_copies(pictures, folder)
        sounds = pd.DataFrame(columns=["item_id", "path", "sha256"])
        feature, cache = FeatureType(Network()), FeatureCache(folder / "cache")
        before = os.environ.get("MEDIARANK_JOBS")
        os.environ["MEDIARANK_JOBS"] = "1"
        try:

            def ours() -> np.ndarray:
                return extract_rows(feature, frames, sounds, Media(folder), cache).values

            peers = {batch: PlainLoop(folder, frames["path"].tolist(), batch) for batch in BATCHES}
            assert np.abs(ours() - peers[1]()).max() < 0.05 * np.abs(peers[1]()).max(), "the decoders differ a little"
            best = {name: float("inf") for name in ("ours", *BATCHES)}
            for _ in range(rounds):
                for name, function in (("ours", ours), *peers.items()):
                    cache.prune()
                    best[name] = min(best[name], processor_seconds(function))
        finally:
            if before is None:
                del os.environ["MEDIARANK_JOBS"]
            else:
                os.environ["MEDIARANK_JOBS"] = before
    speed = {name: COUNT / seconds for name, seconds in best.items()}
    plain = max(speed[batch] for batch in BATCHES)
    shown = ", ".join(f"{speed[batch]:.0f} in batches of {batch}" for batch in BATCHES)
    print(f"network: {speed['ours']:.0f} pictures per core and second with decoding; a plain loop {shown}")
    return {"network_per_s": round(speed["ours"], 1), "network_ratio": round(speed["ours"] / plain, 3)}


def processor_seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def write_copies(pictures: list[np.ndarray], folder: Path) -> pd.DataFrame:
    """`COUNT` different working copies, and the table that the stage frames would make of them."""
    rows = []
    for k in range(COUNT):
        picture = np.roll(pictures[k % len(pictures)], k, axis=1)
        content = encode_picture(fit_inside(np.asarray(Image.fromarray(picture).resize((400, 300))), SIDE))
        (folder / f"{k}.jpg").write_bytes(content)
        rows.append((f"{k}", f"{k}", "image", 0, f"{k}.jpg", hashlib.sha256(content).hexdigest()))
    return pd.DataFrame(rows, columns=["frame_id", "item_id", "kind", "index", "path", "sha256"]).sort_values("item_id")


class PlainLoop:
    """Pillow, numpy and onnxruntime, with a graph that takes any number of pictures."""

    def __init__(self, folder: Path, paths: list[str], batch: int) -> None:
        model = onnx.load_from_string(default_graph(224))
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "n"
        self.session = open_session(model.SerializeToString(), "the graph")
        self.folder, self.paths, self.batch = folder, paths, batch

    def __call__(self) -> np.ndarray:
        found = []
        for start in range(0, len(self.paths), self.batch):
            squares = []
            for path in self.paths[start : start + self.batch]:
                image = Image.open(self.folder / path).convert("RGB").resize((224, 224), Image.Resampling.BICUBIC)
                squares.append((np.asarray(image, dtype=np.float32) - 127) / 128)
            pictures = np.ascontiguousarray(np.stack(squares).transpose(0, 3, 1, 2))
            found.append(self.session.run(["pooled"], {"picture": pictures})[0])
        return np.concatenate(found)


SETTINGS: dict[str, Network] = {
    "pooled": Network(),
    "mirrored": Network(mirrored=True),
    "side_288": Network(side=288),
    "side_320": Network(side=320),
    "spatial_pyramid": Network(layer="spatial_pyramid"),
    "probabilities": Network(layer="probabilities"),
}


EVERY = 4
"""Settings are compared on a quarter of the pictures."""


def layer_quality(folder: Path) -> dict[str, float]:
    """Setting -> mAP by cosine, of probabilities by the cosine of their square roots (Bhattacharyya)."""
    corel, report = read_corel(folder, EVERY), {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, family in SETTINGS.items():
            matrix = extract_rows(
                FeatureType(family), corel.frames, corel.sounds, Media(folder), FeatureCache(Path(temporary))
            )
            values = np.sqrt(matrix.values) if family.layer == "probabilities" else matrix.values
            report[name] = round(corel.mean_ap(values, cosine_distances), 4)
            print(f"{name:16} mAP {report[name]:.4f}, {milliseconds(family, corel.files[0]):.1f} ms per picture")
    return report


def milliseconds(family: Network, path: Path) -> float:
    """Processor time of one picture, the best of several."""
    picture = read_picture(path)
    return 1e3 * min(processor_seconds(lambda: family.extract(picture)) for _ in range(20))
