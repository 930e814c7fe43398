from __future__ import annotations

from pathlib import Path

import pytest
from made_pictures import Picture, make_picture
from small_collection import Collection


@pytest.fixture
def picture() -> Picture:
    return make_picture(0)


@pytest.fixture
def small() -> Picture:
    """Small enough for kernels run as plain Python."""
    return make_picture(1, 18, 22)


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    return Collection(tmp_path / "media")
