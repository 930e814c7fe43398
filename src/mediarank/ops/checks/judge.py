"""Let Great Expectations judge suites: in memory, silently, without files, network or account.

A condition that raises counts as a failed expectation and stops the run, whatever its severity: what can't be judged
must not pass. Great Expectations reports results in its own order; ours is that of the suites.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mediarank.ops.checks.result import CheckResult, Outcome, Status
from mediarank.ops.checks.rules import Rule, Suite

FIRST_ROWS = 5
_RESULT_FORMAT = {
    "result_format": "SUMMARY",
    "partial_unexpected_count": FIRST_ROWS,
    "exclude_unexpected_values": True,
}


def judge(check: str, suites: Sequence[Suite], summary: Mapping[str, Any]) -> CheckResult:
    """Judge every rule of every suite; `summary` is passed on to the result."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    settings = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(),  # the defaults would make a folder for HTML pages
        progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
        analytics_enabled=False,
    )
    context = gx.get_context(project_config=settings, mode="ephemeral")
    asset = context.data_sources.add_pandas("memory").add_dataframe_asset("table")
    whole_table = asset.add_batch_definition_whole_dataframe("whole")
    outcomes = tuple(outcome for suite in suites for outcome in _judge_suite(suite, whole_table))
    return CheckResult(check, outcomes, summary)


def _judge_suite(suite: Suite, whole_table: Any) -> list[Outcome]:
    if suite.skipped:
        return [_outcome(rule, suite, "skipped", problem=suite.skipped) for rule in suite.rules]
    import great_expectations as gx
    from great_expectations import expectations

    # Failing rows are reported by index, which here is the position.
    table = suite.table.reset_index(drop=True)
    # Great Expectations hashes everything it gets, so it gets only the columns it uses (and one to count rows by).
    looked_at = {column for rule in suite.rules for column in rule.condition.columns} or {table.columns[0]}
    judged = table[[column for column in table.columns if column in looked_at]]
    batch = whole_table.get_batch(batch_parameters={"dataframe": judged})
    wanted = gx.ExpectationSuite(suite.subject)
    for rule in suite.rules:
        wanted.add_expectation(
            getattr(expectations, rule.condition.expectation)(**rule.condition.arguments, meta={"rule": rule.name})
        )
    found = {r.expectation_config.meta["rule"]: r for r in batch.validate(wanted, result_format=_RESULT_FORMAT).results}
    return [_read(rule, suite, table, found[rule.name]) for rule in suite.rules]


def _read(rule: Rule, suite: Suite, table: pd.DataFrame, verdict: Any) -> Outcome:
    """One result of Great Expectations as our own outcome."""
    problem = _problem(verdict.exception_info)
    if problem:
        return _outcome(rule, suite, "failed", problem=problem)
    if verdict.success:
        return _outcome(rule, suite, "passed")
    status: Status = "failed" if rule.severity == "error" else "warned"
    result = verdict.result
    if "unexpected_count" not in result:
        return _outcome(rule, suite, status, observed=float(result["observed_value"]))
    rows = table.loc[result["partial_unexpected_index_list"][:FIRST_ROWS], list(suite.shown)]
    first = tuple({str(k): _json_value(v) for k, v in row.items()} for row in rows.to_dict("records"))
    return _outcome(rule, suite, status, failing_rows=int(result["unexpected_count"]), first_rows=first)


def _outcome(rule: Rule, suite: Suite, status: Status, **found: Any) -> Outcome:
    return Outcome(
        rule.name, suite.subject, rule.severity, status, rule.expected, rule.remedy, len(suite.table), **found
    )


def _problem(info: Mapping[str, Any]) -> str:
    """The message of the first exception, without its traceback, which names paths and versions.

    `info` describes one exception, or maps each metric needed to its exception.
    """
    described = [info] if "raised_exception" in info else [info[key] for key in sorted(info)]
    return next((str(d["exception_message"]) for d in described if d["raised_exception"]), "")


def _json_value(value: Any) -> str | int | float | bool | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # JSON has no infinity, but a reader must see it.
        return value if math.isfinite(value) else (None if math.isnan(value) else str(value))
    return value if value is None or isinstance(value, str | int | bool) else (None if pd.isna(value) else str(value))
