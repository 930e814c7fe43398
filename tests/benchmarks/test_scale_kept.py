"""A run that is killed and continued counts as one run; what was measured is not measured again."""

from __future__ import annotations

from pathlib import Path

import pytest
from scale_kept import Kept, added

FIRST = {
    "seconds": 10.0,
    "processor": 9.5,
    "dvc": 1.0,
    "stages": {"collect": (2.0, 1.5, 200), "features-network": (7.0, 6.5, 450)},
    "finished": False,
}
LAST = {
    "seconds": 6.0,
    "processor": 5.5,
    "dvc": 2.0,
    "stages": {"features-network": (3.0, 2.5, 500), "report": (1.0, 0.5, 300)},
    "finished": True,
}


def test_portions_are_added_up() -> None:
    assert added([FIRST, LAST]) == {
        "seconds": 16.0,
        "processor": 15.0,
        "dvc": 3.0,
        "portions": 2,
        "stages": {"collect": (2.0, 1.5, 200), "features-network": (10.0, 9.0, 500), "report": (1.0, 0.5, 300)},
    }


def test_a_killed_run_is_continued_and_a_finished_one_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    with pytest.raises(SystemExit, match="the same command goes on"):
        Kept(file).in_portions("run", lambda: FIRST)
    assert "run" not in Kept(file).values
    Kept(file).in_portions("run", lambda: LAST)
    assert Kept(file).values["run"]["processor"] == 15.0
    Kept(file).in_portions("run", lambda: pytest.fail("measured again"))


def test_another_process_may_measure_another_part(tmp_path: Path) -> None:
    one, other = Kept(tmp_path / "measured.json"), Kept(tmp_path / "measured.json")
    one.once("a", lambda: 1)
    other.once("b", lambda: 2)
    assert Kept(tmp_path / "measured.json").values == {"a": 1, "b": 2}
