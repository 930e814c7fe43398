"""How rules are judged: verdicts, exceptions, order, and that nothing is left behind or differs between runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.ops import checks
from mediarank.ops.checks.judge import FIRST_ROWS, judge
from mediarank.ops.checks.result import CheckResult, Outcome
from mediarank.ops.checks.rules import (
    Condition,
    Rule,
    Suite,
    at_least,
    at_most,
    distinct_at_least,
    matches,
    one_of,
    present,
    rows_at_least,
    unique,
)
from mediarank.types import CheckFailed

TABLE = pd.DataFrame({"name": ["a", "b", "b", None], "value": [1.0, np.inf, -3.0, np.nan]}, index=[7, 7, 8, 9])


def judged(condition: Condition, table: pd.DataFrame = TABLE, severity: str = "error") -> Outcome:
    rule = Rule("rule", condition, "It holds.", "Fix it.", severity)  # type: ignore[arg-type]
    (outcome,) = judge("check", [Suite("table", table, ("name", "value"), (rule,))], {}).outcomes
    return outcome


@pytest.mark.parametrize(
    ("condition", "failing"),
    [
        (present("name"), 1),
        (unique("name"), 2),
        (unique("name", "value"), 0),
        (one_of("name", ["a"]), 2),
        (one_of("name", ["a"], exceptions=0.7), 0),
        (matches("name", "^a"), 2),
        (at_least("value", 1), 1),
        (at_least("value", 1, strictly=True), 2),
        (at_most("value", 1), 1),
    ],
    ids=str,
)
def test_conditions_on_rows(condition: Condition, failing: int) -> None:
    """Missing values pass all but `present`, as its docstring says."""
    outcome = judged(condition)
    assert (outcome.failing_rows, outcome.status) == (failing, "failed" if failing else "passed")


@pytest.mark.parametrize(
    ("condition", "observed"),
    [
        (rows_at_least(4), None),
        (rows_at_least(5), 4),
        (distinct_at_least("name", 2), None),
        (distinct_at_least("name", 3), 2),
    ],
    ids=str,
)
def test_conditions_on_the_table(condition: Condition, observed: float | None) -> None:
    outcome = judged(condition)
    assert (outcome.observed, outcome.status) == (observed, "passed" if observed is None else "failed")


def test_rows_are_found_by_position_and_shown_as_json() -> None:
    assert judged(one_of("name", ["a"])).first_rows == ({"name": "b", "value": "inf"}, {"name": "b", "value": -3.0})
    assert judged(present("name")).first_rows == ({"name": None, "value": None},)


def test_only_the_first_rows_are_shown() -> None:
    table = pd.DataFrame({"name": [f"n{k}" for k in range(100)], "value": range(100)})
    outcome = judged(at_most("value", 9), table)
    assert outcome.failing_rows == 90
    assert [row["name"] for row in outcome.first_rows] == [f"n{k}" for k in range(10, 10 + FIRST_ROWS)]


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_what_cannot_be_judged_fails_whatever_its_severity(severity: str) -> None:
    table = pd.DataFrame({"name": ["a", "b"], "value": ["1", "x"]})
    outcome = judged(at_least("value", 1), table, severity)
    assert outcome.status == "failed"
    assert outcome.problem
    assert "Traceback" not in outcome.explain()
    assert (
        judged(present("absent"), table, severity).problem == 'Error: The column "absent" in BatchData does not exist.'
    )


def test_a_warning_does_not_stop() -> None:
    outcome = judged(present("name"), severity="warning")
    result = CheckResult("check", (outcome,))
    result.raise_if_failed()
    assert result.success
    assert outcome.status == "warned"
    assert result.explain().startswith("check: 1 of 1 expectations gave a warning.")


def test_text_columns_of_pandas_3_are_of_type_str() -> None:
    typed = Condition("ExpectColumnValuesToBeOfType", {"column": "name", "type_": "str"})
    assert judged(typed).status == "passed"


def test_outcomes_keep_the_order_of_the_rules() -> None:
    conditions = [unique("name"), rows_at_least(1), present("absent"), at_most("value", 9), present("name")]
    rules = tuple(Rule(f"rule_{k}", c, "", "") for k, c in enumerate(conditions))
    suites = [Suite("one", TABLE, ("name",), rules), Suite("two", TABLE, ("name",), rules[:1], "not today")]
    result = judge("check", suites, {"n": 1})
    assert [o.name for o in result.outcomes] == ["rule_0", "rule_1", "rule_2", "rule_3", "rule_4", "rule_0"]
    assert [o.status for o in result.outcomes] == ["failed", "passed", "failed", "failed", "failed", "skipped"]
    assert result.to_json()["counts"] == {"passed": 1, "warned": 0, "failed": 4, "skipped": 1}
    assert result.to_json()["summary"] == {"n": 1}


def test_message_says_which_how_many_the_first_and_what_to_do() -> None:
    with pytest.raises(CheckFailed) as caught:
        CheckResult("check", (judged(unique("name")),)).raise_if_failed()
    assert str(caught.value) == (
        "check: 1 of 1 expectations failed.\n\n"
        "rule (table): It holds.\n"
        "  Fails on 2 of 4 rows:\n"
        "    name=b, value=inf\n"
        "    name=b, value=-3\n"
        "  What to do: Fix it."
    )


SCRIPT = """
import socket, sys
from pathlib import Path

class Refused(socket.socket):
    def connect(self, *_):
        raise AssertionError("a check must not use the network")

socket.socket = Refused
from mediarank import store
from mediarank.ops import checks
assert "great_expectations" not in sys.modules, "importing the checks must stay cheap"
table, target = Path(sys.argv[1]), Path(sys.argv[2])
ids = [f"i{k}" for k in range(30)]
result = checks.check_features({"hog": store.read_table(table)}, {"hog": ids[3:]}, {"hog": ids}, None,
                               checks.FeatureCheckConfig())
store.write_json(target, result.to_json())
"""


def test_processes_agree_to_the_byte_and_leave_nothing_behind(tmp_path: Path) -> None:
    shares = {"nan_share": [0.0, 0.5], "inf_share": 0.0, "constant": False}
    statistics = {"minimum": 0.0, "maximum": 1.0, "mean": 1 / 3, "std": 0.25}
    table = pd.DataFrame({"dimension": ["a", "b"], "n": 30, **shares, **statistics})
    ids = [f"i{k}" for k in range(30)]
    here = checks.check_features({"hog": table}, {"hog": ids[3:]}, {"hog": ids}, None, checks.FeatureCheckConfig())
    store.write_json(tmp_path / "here.json", here.to_json())
    store.write_table(tmp_path / "table.parquet", table)
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "table.parquet"), str(tmp_path / "there.json")],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no progress bars, no warnings
    assert list(home.rglob("*")) == []
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()
    found = json.loads((tmp_path / "here.json").read_text())
    assert [e["name"] for e in found["expectations"] if e["status"] == "failed"] == [
        "items_have_rows",
        "no_value_is_nan",
    ]
