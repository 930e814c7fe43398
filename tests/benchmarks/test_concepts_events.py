"""The benchmarks of concepts and events can be imported."""

from __future__ import annotations

from importlib import import_module

import pytest

MODULES = (
    "concepts", "concepts_compare", "concepts_data", "concepts_speed",
    "events", "events_bands", "events_data", "events_made", "events_made_clips", "events_real", "events_speed",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_they_are_imported(name: str) -> None:
    import_module(name)
