"""The cost that `init` prints: fitting by the times of an earlier run, for the systems that find labels."""

from __future__ import annotations

import pytest

from mediarank.asking.run_cost import FIXED_SHARE, OF_THE_DEMO, Fitting
from mediarank.systems.registry import SYSTEMS

EARLIER = Fitting(
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
        ({"retrieval"}, 1000, 25.0),
        ({"retrieval", "concepts"}, 1000, 40.0),
        ({"retrieval"}, 3000, 75.0),
        ({"retrieval"}, 10, 25.0 * FIXED_SHARE),
        (set(), 1000, 3.0),
    ],
)
def test_fitting_costs_what_it_cost_before(systems: set[str], items: int, seconds: float) -> None:
    assert EARLIER.expected(systems, items) == pytest.approx(seconds)


def test_the_demo_tells_of_every_system() -> None:
    whole = OF_THE_DEMO.expected(set(SYSTEMS), OF_THE_DEMO.items)
    assert all(OF_THE_DEMO.expected(set(SYSTEMS) - {one}, OF_THE_DEMO.items) < whole for one in SYSTEMS)
