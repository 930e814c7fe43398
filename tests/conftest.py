"""The order of the tests: what takes longest begins first, so that two processes end together."""

from __future__ import annotations

import pytest

LONGEST = ("test_whole_line.py", "test_script.py", "test_pipeline_flow.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
