from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from legacy_torch import Call, Global, Storage, head, legacy_file, pickled, tensor

from mediarank.features.torch_weights import read_state_dict
from mediarank.types import DataError

NUMBERS = np.arange(12, dtype=np.float32)


def good() -> bytes:
    storage, count = Storage("7", "FloatStorage", 12), Storage("8", "LongStorage", 1)
    state = OrderedDict(
        plain=tensor(storage, (3, 4), (4, 1)),
        turned=tensor(storage, (4, 3), (1, 4)),
        part=tensor(storage, (2,), (3,), offset=5),
        count=tensor(count, (), ()),
    )
    return legacy_file(state, {"8": np.array([41]), "7": NUMBERS})


def test_tensors_are_views_of_storages() -> None:
    read = read_state_dict(good())
    assert list(read) == ["plain", "turned", "part", "count"]
    np.testing.assert_array_equal(read["plain"], NUMBERS.reshape(3, 4))
    np.testing.assert_array_equal(read["turned"], NUMBERS.reshape(3, 4).T)
    np.testing.assert_array_equal(read["part"], [5, 8])
    assert read["count"] == 41
    assert read["plain"].dtype == np.float32


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch.storage", "_load_from_bytes"),
        ("collections", "namedtuple"),
        ("mediarank.features.torch_weights", "read_state_dict"),
    ],
)
def test_a_hostile_pickle_is_refused_before_it_runs(module: str, name: str, tmp_path: Path) -> None:
    command = f"touch {tmp_path / 'ran'}"
    for hostile in (
        legacy_file(OrderedDict(a=Call(Global(module, name), command)), {}),
        head()[:0] + pickled(Call(Global(module, name), command)),
        legacy_file(Global(module, name), {}),
    ):
        with pytest.raises(DataError, match=name):
            read_state_dict(hostile)
    assert not (tmp_path / "ran").exists()


def test_an_ordinary_pickle_bomb_is_refused(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    with pytest.raises(DataError, match="system"):
        read_state_dict(pickle.dumps(Bomb()))
    assert not (tmp_path / "ran").exists()


def test_a_file_that_is_cut_short_or_goes_on_is_refused() -> None:
    whole = good()
    for cut in (0, 10, 40, len(whole) // 2, len(whole) - 1):
        with pytest.raises(DataError):
            read_state_dict(whole[:cut])
    with pytest.raises(DataError, match="after its last storage"):
        read_state_dict(whole + b"!")


def test_a_tensor_stays_inside_its_storage() -> None:
    storage = Storage("7", "FloatStorage", 12)
    for view in (tensor(storage, (4, 4), (4, 1)), tensor(storage, (2,), (1,), offset=11), tensor(storage, (2,), (-1,))):
        with pytest.raises(DataError):
            read_state_dict(legacy_file(OrderedDict(a=view), {"7": NUMBERS}))


def test_what_is_no_state_dict_is_refused() -> None:
    for state in ([1, 2], OrderedDict(a=3), OrderedDict(a=tensor(Storage("9", "FloatStorage", 12), (12,), (1,)))):
        with pytest.raises(DataError):
            read_state_dict(legacy_file(state, {"7": NUMBERS}))
    with pytest.raises(DataError):
        read_state_dict(b"PK\x03\x04 a zip archive, as newer versions write it")
