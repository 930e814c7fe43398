"""The cost that `init` prints: the stages by the times of an earlier run, for the systems that find labels."""

from __future__ import annotations

import pytest

from mediarank.asking.run_cost import OF_THE_DEMO, EarlierRun
from mediarank.systems.registry import SYSTEMS

EARLIER = EarlierRun(
    {
        "collect": 100.0, "features-hog": 100.0, "base_models-hog": 4.0, "systems-concepts": 10.0,
        "evaluation-concepts": 1.0, "systems-retrieval": 20.0, "evaluation-retrieval": 2.0, "report": 3.0,
    },
    1000,
    "the last run's",
)  # fmt: skip


@pytest.mark.parametrize(
    ("systems", "items", "seconds"),
    [
        (set(), 1000, 8 + 2),
        ({"retrieval"}, 1000, 8 + 2 + 19 + 1),
        ({"retrieval", "concepts"}, 1000, 8 + 2 + 19 + 1 + 3 + 9),
        ({"retrieval"}, 3000, 8 + 3 * (2 + 19 + 1)),
        ({"retrieval"}, 0, 8),
    ],
)
def test_stages_cost_what_they_cost_before(systems: set[str], items: int, seconds: float) -> None:
    assert EARLIER.expected(systems, items) == pytest.approx(seconds)


def test_the_demo_tells_of_every_system() -> None:
    whole = OF_THE_DEMO.expected(set(SYSTEMS), OF_THE_DEMO.items)
    assert all(OF_THE_DEMO.expected(set(SYSTEMS) - {one}, OF_THE_DEMO.items) < whole for one in SYSTEMS)
