"""The graph against the network's definition, written out in numpy: batch normalisation unfolded, double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from mediarank.features.efficientnet_lite0 import build_classifier, build_graph, folded, same_padding
from mediarank.features.network_model import open_session, weights_bytes
from mediarank.features.torch_weights import read_state_dict
from mediarank.types import DataError

# expansion, kernel, stride, output channels of the stages of EfficientNet-B0, and how often each is repeated;
# Lite0 repeats the first and the last stage no more often than B0
STAGES = [
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
]  # fmt: skip


@pytest.fixture(scope="module")
def weights() -> Mapping[str, np.ndarray]:
    return read_state_dict(weights_bytes())


def convolved(x: np.ndarray, kernel: np.ndarray, stride: int) -> np.ndarray:
    """(channels, h, w) by (out, in or 1, k, k), padded so that ceil(h / stride) rows come out."""
    size, side = kernel.shape[2], x.shape[1]
    total = max((-(-side // stride) - 1) * stride + size - side, 0)
    pad = (total // 2, total - total // 2)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), pad, pad)), (size, size), axis=(1, 2))
    windows = windows[:, ::stride, ::stride]
    if kernel.shape[1] == 1 and kernel.shape[0] == len(x):
        return np.einsum("chwij,cij->chw", windows, kernel[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, kernel, optimize=True)


def normed(x: np.ndarray, weights: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    scale, shift, mean, variance = (
        weights[f"{name}.{part}"].astype(np.float64)[:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + shift


def reference(weights: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The last map of one picture (3, side, side)."""

    def layer(x: np.ndarray, name: str, norm: str, stride: int = 1, relu: bool = True) -> np.ndarray:
        x = normed(convolved(x, weights[f"{name}.weight"].astype(np.float64), stride), weights, norm)
        return np.clip(x, 0, 6) if relu else x

    x, index = layer(x, "_conv_stem", "_bn0", 2), 0
    for expansion, kernel, first_stride, channels, repeats in STAGES:
        for repeat in range(repeats):
            name, entry, stride = f"_blocks.{index}", x, first_stride if repeat == 0 else 1
            if expansion > 1:
                x = layer(x, f"{name}._expand_conv", f"{name}._bn0")
            assert weights[f"{name}._depthwise_conv.weight"].shape[2] == kernel
            x = layer(x, f"{name}._depthwise_conv", f"{name}._bn1", stride)
            x = layer(x, f"{name}._project_conv", f"{name}._bn2", relu=False)
            assert len(x) == channels
            if stride == 1 and entry.shape == x.shape:
                x = x + entry
            index += 1
    return layer(x, "_conv_head", "_bn1")


@pytest.mark.parametrize("side", [64, 96])
def test_every_output_is_what_the_definition_gives(weights: Mapping[str, np.ndarray], side: int) -> None:
    picture = np.random.default_rng(side).normal(0, 0.6, (3, side, side)).astype(np.float32)
    session = open_session(build_graph(weights, side), "the graph")
    pooled, pyramid = session.run(["pooled", "spatial_pyramid"], {"picture": picture[None]})
    classifier = open_session(build_classifier(weights), "the classifier")
    logits, probabilities = (v[0] for v in classifier.run(["logits", "probabilities"], {"pooled": pooled}))
    pooled, pyramid = pooled[0], pyramid[0]
    feature_map = reference(weights, picture.astype(np.float64))
    mean = feature_map.mean(axis=(1, 2))
    np.testing.assert_allclose(pooled, mean, atol=1e-4 * np.abs(mean).max())
    expected = weights["_fc.weight"] @ mean + weights["_fc.bias"]
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())
    shares = np.exp(expected - expected.max()) / np.exp(expected - expected.max()).sum()
    np.testing.assert_allclose(probabilities, shares, rtol=1e-3, atol=1e-6)
    half = -(-len(feature_map[0]) // 2)
    parts = [feature_map[:, rows, columns] for rows in (slice(half), slice(-half, None))
             for columns in (slice(half), slice(-half, None))]  # fmt: skip
    quarters = np.concatenate([mean, *(part.mean(axis=(1, 2)) for part in parts)])
    np.testing.assert_allclose(pyramid, quarters, atol=1e-4 * np.abs(quarters).max())


def test_the_same_weights_give_the_same_bytes(weights: Mapping[str, np.ndarray]) -> None:
    assert build_graph(weights, 64) == build_graph(dict(reversed(weights.items())), 64)


def test_a_missing_tensor_is_named(weights: Mapping[str, np.ndarray]) -> None:
    with pytest.raises(DataError, match=r"_conv_head\.weight"):
        build_graph({k: v for k, v in weights.items() if k != "_conv_head.weight"}, 64)


def test_folding_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    kernel, x = rng.normal(size=(4, 3, 1, 1)), rng.normal(size=(3, 5, 5))
    scale, shift, mean, variance = (rng.uniform(0.5, 2, 4) for _ in range(4))
    names = {"n.weight": scale, "n.bias": shift, "n.running_mean": mean, "n.running_var": variance}
    new, bias = folded(kernel, scale, shift, mean, variance)
    expected = normed(convolved(x, kernel, 1), names, "n")
    np.testing.assert_allclose(convolved(x, new, 1) + bias[:, None, None], expected, rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_padding_gives_as_many_columns_as_promised(kernel: int, stride: int) -> None:
    for side in range(1, 40):
        before, after = same_padding(side, kernel, stride)
        assert 0 <= after - before <= 1
        if kernel >= stride:
            assert (side + before + after - kernel) // stride + 1 == -(-side // stride)
