from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from made_pictures import make_picture
from onnx import TensorProto, helper
from PIL import Image
from pydantic import TypeAdapter
from small_collection import Collection, described

from mediarank.fanout import fan_out_iter
from mediarank.features import describe
from mediarank.features.cache import FeatureCache
from mediarank.features.check import check_extractor
from mediarank.features.network import Network
from mediarank.features.units import list_units
from mediarank.media.working import read_picture
from mediarank.types import ConfigError

ORACLE = Path(os.environ.get("MEDIARANK_DATA", Path(__file__).parents[3] / "shared/data")) / "network/lite0_osr16.npz"
GOLDEN_PLACES = [989, 301, 714, 1173, 113]
GOLDEN_VALUES = [3.5277, 3.3357, 3.3061, 3.0044, 2.7977]
GOLDEN_MOMENTS = [0.10606, 0.34550]


@pytest.mark.skipif(not ORACLE.exists(), reason="needs the features that PyTorch's own export gives")
def test_the_network_agrees_with_pytorch() -> None:
    with np.load(ORACLE, allow_pickle=False) as oracle:
        pixels, pooled, logits = oracle["pixels"], oracle["pooled"], oracle["logits"]
    ours = np.stack([Network().extract(picture) for picture in pixels])
    assert np.abs(ours - pooled).max() < 1e-4 * np.abs(pooled).max()
    assert np.linalg.norm(ours - pooled) < 1e-4 * np.linalg.norm(pooled)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    ours = np.stack([Network(layer="probabilities").extract(picture) for picture in pixels])
    np.testing.assert_allclose(ours, shares, rtol=1e-4, atol=1e-7)


def test_known_values_of_a_known_picture() -> None:
    vector = Network().extract(make_picture(5, 224, 224))
    places = np.argsort(-vector, kind="stable")[:5]
    assert places.tolist() == GOLDEN_PLACES
    np.testing.assert_allclose(vector[places], GOLDEN_VALUES, rtol=1e-3)
    np.testing.assert_allclose([vector.mean(), vector.std()], GOLDEN_MOMENTS, rtol=1e-3)


@pytest.mark.parametrize(("layer", "length"), [("pooled", 1280), ("probabilities", 1000), ("spatial_pyramid", 6400)])
def test_each_layer_has_its_length(layer: Any, length: int) -> None:
    family = Network(layer=layer)
    check_extractor(family)
    assert len(family.names()) == length


def test_layers_belong_together() -> None:
    picture = make_picture(2, 240, 320)
    pooled, shares, pyramid = (
        Network(layer=layer).extract(picture) for layer in ("pooled", "probabilities", "spatial_pyramid")
    )
    np.testing.assert_array_equal(pyramid[:1280], pooled)
    assert shares.sum() == pytest.approx(1, abs=1e-5)
    assert shares.min() >= 0
    # of a map of 7 x 7, the quarters of 4 x 4 share one row and one column
    assert np.abs(pyramid[1280:].reshape(4, 1280).mean(axis=0) - pooled).mean() < pooled.mean()


def test_pixels_are_scaled_as_the_network_was_trained() -> None:
    picture = make_picture(3, 100, 150)
    square = np.asarray(Image.fromarray(picture).resize((64, 64), Image.Resampling.BICUBIC)).astype(np.float64)
    prepared = Network(side=64).prepared(picture)
    assert prepared.shape == (1, 3, 64, 64)
    np.testing.assert_allclose(prepared[0], (square.transpose(2, 0, 1) - 127) / 128, atol=1e-6)


def test_a_mirrored_picture_has_the_same_mirrored_features() -> None:
    picture, family = make_picture(4, 64, 64), Network(side=64, mirrored=True)
    turned = np.ascontiguousarray(picture[:, ::-1])
    np.testing.assert_allclose(family.extract(turned), family.extract(picture), rtol=1e-4, atol=1e-5)
    plain = Network(side=64)
    expected = (plain.extract(picture) + plain.extract(turned)) / 2
    np.testing.assert_allclose(family.extract(picture), expected, rtol=1e-4, atol=1e-5)


def test_batches_and_processes_do_not_change_a_byte(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is how many pictures a process gets at a time; the network sees them one by one."""
    family = Network(side=64, pool="none")
    media = collection.tables()[2]
    units = list_units(family, collection.frames, collection.sounds)
    jobs_of_units = [(unit, tuple(media[path] for path in unit.paths)) for unit in units] * 20
    function = partial(describe._extract, family)
    monkeypatch.setattr("mediarank.fanout.START_UP", 0.0)  # other processes are started as soon as there is work
    results = []
    for jobs, batch in (("1", 1), ("1", 64), ("2", 1), ("2", 64)):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        results.append(np.stack(list(fan_out_iter(function, jobs_of_units, "network", batch))).tobytes())
    assert len(set(results)) == 1
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    rows = described(family, *collection.tables())
    assert results[0] == np.tile(rows.values, (20, 1)).tobytes()


def test_the_graph_is_kept_beside_the_vectors(collection: Collection, tmp_path: Path) -> None:
    described(Network(side=96), *collection.tables(), FeatureCache(tmp_path))
    assert [path.suffix for path in (tmp_path / "graphs").iterdir()] == [".onnx"]
    described(Network(side=96, layer="probabilities"), *collection.tables(), FeatureCache(tmp_path))
    assert len(list((tmp_path / "graphs").iterdir())) == 2, "the classifier is a graph of its own"
    kept = Network(side=96).kept_in(tmp_path / "graphs")
    assert kept.identity() == Network(side=96).identity()


def test_nothing_is_computed_twice(collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = FeatureCache(tmp_path)
    first = described(Network(side=64), *collection.tables(), cache)
    monkeypatch.setattr(describe, "_extract", lambda *_: pytest.fail("computed again"))
    assert described(Network(side=64), *collection.tables(), cache).values.tobytes() == first.values.tobytes()


@pytest.mark.parametrize("settings", [{}, {"granularity": "2x2"}, {"mirrored": True}])
def test_class_probabilities_come_from_pooled_features(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """The bytes are those of `extract`, and the network does not run a second time."""
    pooled, classes = Network(side=64, **settings), Network(side=64, layer="probabilities", **settings)
    cache = FeatureCache(tmp_path)
    described(pooled, *collection.tables(), cache)
    fresh = described(classes, *collection.tables())
    path = collection.frames.set_index("item_id")["path"]["images/1.png"]
    assert fresh.rows(["images/1.png"]).tobytes() == classes.extract(read_picture(collection.folder / path)).tobytes()
    monkeypatch.setattr(describe, "_extract", lambda *_: pytest.fail("the network ran again"))
    assert described(classes, *collection.tables(), cache).values.tobytes() == fresh.values.tobytes()


def test_identity_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    one, other = (Network(model=str(tmp_path / name), sha256="ab" * 32) for name in ("one.onnx", "other.onnx"))
    assert one.identity() == other.identity() != Network(model="one.onnx", sha256="cd" * 32).identity()
    assert Network(pool="none").identity() == Network().identity() != Network(layer="probabilities").identity()
    assert Network(side=256).identity() != Network().identity()


@pytest.mark.parametrize(
    "settings",
    [
        {"side": 225},
        {"model": "no_such_model"},
        {"model": "own.onnx"},
        {"model": "own.onnx", "sha256": "not a hash"},
        {"sha256": "ab" * 32},
        {"mean": 0.0},
        {"deviation": [1, 1, 0], "model": "own.onnx", "sha256": "ab" * 32},
        {"layer": "logits"},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((ConfigError, ValueError)):
        TypeAdapter(Network).validate_python(settings)


def own(path: Path, side: int | str = 8, kind: int = TensorProto.FLOAT, inputs: int = 1) -> Network:
    """A file that averages a picture, and a family that uses it: outputs `row` (1, 3) and `map` (1, 3, side, side)."""
    sources = [helper.make_tensor_value_info(f"x{k}", kind, [1, 3, side, side]) for k in range(inputs)]
    nodes = [
        helper.make_node("Identity", ["x0"], ["map"]),
        helper.make_node("ReduceMean", ["map"], ["row"], axes=[2, 3], keepdims=0),
        *(helper.make_node("Identity", [f"x{k}"], [f"other{k}"]) for k in range(1, inputs)),
    ]
    outputs = [helper.make_tensor_value_info("row", kind, None), helper.make_tensor_value_info("map", kind, None)]
    made = helper.make_model(
        helper.make_graph(nodes, "g", sources, outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.save(made, str(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Network(model=str(path), sha256=digest, side=32, mean=(1.0, 2.0, 3.0), deviation=4.0, output="row")


def test_a_network_of_ones_own(tmp_path: Path) -> None:
    family = own(tmp_path / "own.onnx", "side")
    picture = np.empty((32, 32, 3), np.uint8)
    picture[:16], picture[16:] = (10, 20, 30), (50, 60, 70)
    check_extractor(family)
    assert family.names() == ("c0", "c1", "c2")
    np.testing.assert_allclose(family.extract(picture), (np.array([30, 40, 50]) - [1, 2, 3]) / 4, rtol=1e-5)
    pyramid = replace(family, output="map", layer="spatial_pyramid").extract(picture).reshape(5, 3)
    upper, lower = (np.array([10, 20, 30]) - [1, 2, 3]) / 4, (np.array([50, 60, 70]) - [1, 2, 3]) / 4
    np.testing.assert_allclose(pyramid, [(upper + lower) / 2, upper, upper, lower, lower], rtol=1e-5)
    shares = replace(family, layer="probabilities").extract(picture)
    row = (np.array([30, 40, 50]) - [1, 2, 3]) / 4
    np.testing.assert_allclose(shares, np.exp(row) / np.exp(row).sum(), rtol=1e-5)
    np.testing.assert_allclose(replace(family, output="map").extract(picture), row, rtol=1e-5)


def test_a_network_that_does_not_fit_is_refused_with_the_reason(tmp_path: Path) -> None:
    picture = make_picture(0)
    fits = own(tmp_path / "fits.onnx", "side")
    for family, reason in (
        (own(tmp_path / "side.onnx", 48), "side"),
        (own(tmp_path / "double.onnx", "side", TensorProto.DOUBLE), "float32"),
        (own(tmp_path / "two.onnx", "side", inputs=2), "2 inputs"),
        (replace(fits, output="no_such"), "row, map"),
        (replace(fits, output=None), "row, map"),
        (replace(fits, layer="spatial_pyramid"), "one row"),
        (replace(fits, layer="probabilities", output="map"), "map"),
    ):
        with pytest.raises(ConfigError, match=reason):
            family.extract(picture)


def test_the_telemetry_of_the_runtime_is_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import onnxruntime

    called: list[bool] = []
    monkeypatch.setattr(onnxruntime, "disable_telemetry_events", lambda: called.append(True))
    own(tmp_path / "own.onnx", "side").extract(make_picture(0))
    assert called
