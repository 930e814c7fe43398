"""Write PyTorch's legacy format without PyTorch, good files and hostile ones, to test what reads it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C


class Global:
    """Pickled as the bare name of a class or function that need not exist here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Storage:
    def __init__(self, key: str, kind: str, length: int) -> None:
        self.key, self.kind, self.length = key, kind, length


class Call:
    """Pickled as a call of a `Global`."""

    def __init__(self, function: Global, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class LegacyPickler(pickle._Pickler):  # the one in Python, whose steps can be overridden
    def save(self, obj: Any, save_persistent_id: bool = True) -> None:  # type: ignore[override]
        if isinstance(obj, Global):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        elif isinstance(obj, Call):
            self.save(obj.function)
            self.save(obj.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, Storage):
            return ("storage", Global("torch", obj.kind), obj.key, "cpu", obj.length, None)
        return None


def pickled(value: Any) -> bytes:
    buffer = io.BytesIO()
    LegacyPickler(buffer, protocol=2).dump(value)
    return buffer.getvalue()


def tensor(storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Call:
    rebuild = Global("torch._utils", "_rebuild_tensor_v2")
    return Call(rebuild, storage, offset, shape, strides, False, OrderedDict())


def head() -> bytes:
    facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    return pickled(MAGIC) + pickled(1001) + pickled(facts)


def legacy_file(state: Any, storages: Mapping[str, np.ndarray]) -> bytes:
    """state : name -> `tensor(...)`; storages : key -> its numbers"""
    body = b"".join(len(v).to_bytes(8, "little") + v.tobytes() for v in storages.values())
    return head() + pickled(state) + pickled(list(storages)) + body
