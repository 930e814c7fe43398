"""An expectation: a condition that Great Expectations judges, also stated in plain words, with a remedy.

Conditions are named here and built only when they are judged (`judge.py`), because importing Great Expectations costs
seconds. Only expectations that work on pandas 3 are used; the quantile expectation, for example, crashes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Condition:
    """A class of `great_expectations.expectations` and its arguments."""

    expectation: str
    arguments: Mapping[str, Any]

    @property
    def columns(self) -> list[str]:
        """The columns that it uses; empty if it judges the table as a whole."""
        one = [self.arguments["column"]] if "column" in self.arguments else []
        return [*one, *self.arguments.get("column_list", ())]


@dataclass(frozen=True)
class Rule:
    """One expectation of a table.

    expected : what holds in a good table, as a sentence
    remedy : what to do if it does not hold, as a sentence
    severity : an `error` stops the run, a `warning` is shown
    """

    name: str
    condition: Condition
    expected: str
    remedy: str
    severity: Severity = "error"


@dataclass(frozen=True)
class Suite:
    """The rules of one table.

    subject : what the table holds, such as `manifest`
    shown : the columns that show which row failed, and why
    skipped : why the rules can't be judged; empty if they can
    """

    subject: str
    table: pd.DataFrame
    shown: tuple[str, ...]
    rules: tuple[Rule, ...]
    skipped: str = ""


def present(column: str) -> Condition:
    """No value is missing. All other conditions ignore missing values, so put this first."""
    return Condition("ExpectColumnValuesToNotBeNull", {"column": column})


def unique(*columns: str) -> Condition:
    if len(columns) == 1:
        return Condition("ExpectColumnValuesToBeUnique", {"column": columns[0]})
    return Condition("ExpectCompoundColumnsToBeUnique", {"column_list": list(columns)})


def one_of(column: str, values: Iterable[object], exceptions: float = 0.0) -> Condition:
    """Every value is among `values`, except for a share of `exceptions`."""
    # 1 - 0.7 is a little more than 0.3; without rounding, exactly 70 % of exceptions would be too many.
    mostly = round(1 - exceptions, 12)
    return Condition("ExpectColumnValuesToBeInSet", {"column": column, "value_set": list(values), "mostly": mostly})


def matches(column: str, regex: str) -> Condition:
    return Condition("ExpectColumnValuesToMatchRegex", {"column": column, "regex": regex})


def at_least(column: str, value: float, strictly: bool = False) -> Condition:
    return Condition("ExpectColumnValuesToBeBetween", {"column": column, "min_value": value, "strict_min": strictly})


def at_most(column: str, value: float) -> Condition:
    return Condition("ExpectColumnValuesToBeBetween", {"column": column, "max_value": value})


def rows_at_least(count: int) -> Condition:
    return Condition("ExpectTableRowCountToBeBetween", {"min_value": count})


def distinct_at_least(column: str, count: int) -> Condition:
    return Condition("ExpectColumnUniqueValueCountToBeBetween", {"column": column, "min_value": count})
