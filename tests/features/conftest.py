from __future__ import annotations

import pytest
from made_pictures import Picture, make_picture


@pytest.fixture
def picture() -> Picture:
    return make_picture(0)


@pytest.fixture
def small() -> Picture:
    """Small enough for kernels run as plain Python."""
    return make_picture(1, 18, 22)
