from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mediarank.features import network_model
from mediarank.features.network_model import default_graph, own_graph, weights_bytes
from mediarank.types import ConfigError, DataError


def test_one_changed_byte_of_the_weights_is_refused(tmp_path: Path) -> None:
    data = bytearray(weights_bytes())
    data[-5] ^= 1
    (tmp_path / "weights.pth").write_bytes(data)
    with pytest.raises(DataError, match="sha256"):
        weights_bytes(tmp_path / "weights.pth")


def test_missing_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"weights\.pth"):
        weights_bytes(tmp_path / "weights.pth")
    monkeypatch.setattr(network_model, "PACKAGE", "no-such-package")
    with pytest.raises(DataError, match="not installed"):
        weights_bytes()


def test_the_graph_is_built_once_and_checked_when_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = default_graph(64, tmp_path / "graphs")
    (kept,) = (tmp_path / "graphs").iterdir()
    assert kept.name.endswith(f"{hashlib.sha256(first).hexdigest()}.onnx")
    with monkeypatch.context() as patch:
        patch.setattr(network_model, "build_graph", lambda *_: pytest.fail("built again"))
        assert default_graph(64, tmp_path / "graphs") == first
    kept.write_bytes(first[:-1])
    assert default_graph(64, tmp_path / "graphs") == first, "a damaged graph is built again"
    assert kept.read_bytes() == first


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert default_graph(64, tmp_path / "file/graphs") == default_graph(64)


def model(*nodes: onnx.NodeProto, constants: tuple[onnx.TensorProto, ...] = ()) -> onnx.ModelProto:
    graph = helper.make_graph(
        [*nodes, helper.make_node("Flatten", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        list(constants),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.onnx"
    path.write_bytes(model().SerializeToString())
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert own_graph(path, right.upper()) == path.read_bytes()
    with pytest.raises(ConfigError, match=right):
        own_graph(path, "0" * 64)


@pytest.mark.parametrize("content", [b"", b"not a network", b"\x00" * 100, b"<html>"])
def test_what_is_no_onnx_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.onnx"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="ONNX"):
        own_graph(path, hashlib.sha256(content).hexdigest())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"own\.onnx"):
        own_graph(tmp_path / "own.onnx", "0" * 64)


@pytest.mark.parametrize("inner", [False, True])
def test_numbers_in_another_file_are_refused(tmp_path: Path, inner: bool) -> None:
    outside = numpy_helper.from_array(np.ones(3, np.float32), "w")
    outside.data_location = TensorProto.EXTERNAL
    outside.ClearField("raw_data")
    outside.external_data.add(key="location", value="../secret.bin")
    node = helper.make_node("Constant", [], ["w"], value=outside)
    path = tmp_path / "own.onnx"
    path.write_bytes((model(node) if inner else model(constants=(outside,))).SerializeToString())
    with pytest.raises(ConfigError, match="other files"):
        own_graph(path, hashlib.sha256(path.read_bytes()).hexdigest())
