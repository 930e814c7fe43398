"""Read the weights of a PyTorch file without PyTorch: only tensors, never code.

PyTorch's legacy format (before version 1.6) is five pickles, then the raw numbers: a magic number, the protocol's
version, facts about the machine, the state dict whose tensors refer to storages by key, the list of keys, and each
storage in the order of that list. A pickle can call any function, so the unpickler here knows exactly the names that a
state dict needs, each replaced by our own function, and refuses every other name before anything runs.
"""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError

Array = npt.NDArray[Any]

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_STORAGES: Final[Mapping[str, str]] = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}
"""Storage types of the module `torch`, and how their numbers are stored."""


@dataclass(frozen=True)
class _Storage:
    """One block of numbers that tensors are views of."""

    key: str
    kind: str
    length: int


@dataclass(frozen=True)
class _Tensor:
    """Where a tensor's numbers are: a view of a storage. Strides count numbers, not bytes."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _StateDictUnpickler(pickle.Unpickler):
    """Knows ordered dictionaries, storages and tensors."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return name
        raise DataError(f"it asks for {module}.{name}, which no file of weights needs")

    def persistent_load(self, pid: Any) -> _Storage:
        # ("storage", its type, its key, the device, how many numbers, None unless it is a view of another storage)
        if not (isinstance(pid, tuple) and len(pid) == 6 and pid[0] == "storage" and pid[1] in _STORAGES):
            raise DataError("it refers to something that is not a storage")
        _, kind, key, _, length, view = pid
        if not isinstance(key, str) or not isinstance(length, int) or length < 0 or view is not None:
            raise DataError(f"the storage {key!r} has no valid length or is a view of another one")
        return _Storage(key, kind, length)


def read_state_dict(data: bytes) -> dict[str, Array]:
    """Tensor name -> array, of the bytes of a file that `torch.save(model.state_dict())` wrote in the legacy format."""
    try:
        return _read(io.BytesIO(data))
    except DataError as error:
        raise DataError(
            f"This is not a plain file of PyTorch weights: {error}. Nothing in it was run. Take the file from its "
            "original source again."
        ) from None
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise DataError(
            f"This is not a file of PyTorch weights in the legacy format ({type(error).__name__}: {error}). Install "
            "the package that it belongs to again."
        ) from error


def _read(file: io.BytesIO) -> dict[str, Array]:
    if _load(file) != _MAGIC or _load(file) != _PROTOCOL:
        raise DataError("it does not begin with the magic number and version of the legacy format")
    if _load(file).get("little_endian") is not True:
        raise DataError("its numbers are not stored little-endian")
    state, keys = _load(file), _load(file)
    if not isinstance(state, OrderedDict) or not all(isinstance(t, _Tensor) for t in state.values()):
        raise DataError("its main part is not a dictionary of tensors")
    expected = {tensor.storage.key: tensor.storage for tensor in state.values()}
    if sorted(keys) != sorted(expected):
        raise DataError("its storages are not those that its tensors need")
    storages = {key: _numbers(file, expected[key]) for key in keys}
    if file.read(1):
        raise DataError("there is something after its last storage")
    return {str(name): _array(tensor, storages[tensor.storage.key]) for name, tensor in state.items()}


def _load(file: io.BytesIO) -> Any:
    return _StateDictUnpickler(file).load()


def _tensor(
    storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any = False, hooks: Any = None
) -> _Tensor:
    """Called with the arguments of `torch._utils._rebuild_tensor_v2`; gradients and hooks do not matter here."""
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, _Storage) or len(shape) != len(strides):
        raise DataError("a tensor is not a view of a storage")
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise DataError("a tensor's offset, shape or strides are not natural numbers")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _numbers(file: io.BytesIO, storage: _Storage) -> Array:
    """The next storage: its length as an int64, then its numbers."""
    kind = np.dtype(_STORAGES[storage.kind])
    length = int.from_bytes(file.read(8), "little", signed=True)
    data = file.read(storage.length * kind.itemsize)
    if length != storage.length or len(data) != storage.length * kind.itemsize:
        raise DataError(f"the storage {storage.key} is shorter than it should be")
    return np.frombuffer(data, kind)


def _array(tensor: _Tensor, numbers: Array) -> Array:
    last = tensor.offset + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))
    if math.prod(tensor.shape) == 0 or last >= len(numbers):
        raise DataError(f"a tensor of shape {tensor.shape} reaches beyond its storage")
    strides = [step * numbers.itemsize for step in tensor.strides]
    view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)
    return np.ascontiguousarray(view)
