"""The result of a check: one outcome per expectation, as JSON for the pipeline and as a message for a person.

Nothing here depends on time, place or library version: the JSON is a stage's output and has the same bytes on every
run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mediarank import store
from mediarank.ops.checks.rules import Severity
from mediarank.types import CheckFailed

Status = Literal["passed", "warned", "failed", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one expectation.

    failing_rows : how many of `rows` break it
    first_rows : the first few of them, with the columns that show which row it is and why it fails
    observed : the value that was found, for an expectation of a whole table
    problem : why it could not be judged or was skipped
    """

    name: str
    subject: str
    severity: Severity
    status: Status
    expected: str
    remedy: str
    rows: int = 0
    failing_rows: int = 0
    first_rows: tuple[Mapping[str, Any], ...] = ()
    observed: float | None = None
    problem: str = ""

    def explain(self) -> str:
        """Which expectation, on how many rows, the first of them, what to do."""
        lines = [f"{self.name} ({self.subject}): {self.expected}"]
        if self.problem:
            lines.append(f"  It could not be judged: {self.problem}")
        elif self.observed is not None:
            lines.append(f"  Found: {self.observed:g}")
        else:
            more = ", the first of them" if self.failing_rows > len(self.first_rows) else ""
            lines.append(f"  Fails on {self.failing_rows} of {self.rows} rows{more}:")
            lines += ["    " + ", ".join(f"{k}={_plain(v)}" for k, v in row.items()) for row in self.first_rows]
        lines.append(f"  What to do: {self.remedy}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "subject": self.subject,
            "severity": self.severity,
            "status": self.status,
            "expected": self.expected,
            "remedy": self.remedy,
            "rows": self.rows,
            "failing_rows": self.failing_rows,
            "first_rows": [dict(row) for row in self.first_rows],
            "observed": self.observed,
            "problem": self.problem,
        }


@dataclass(frozen=True)
class CheckResult:
    """All outcomes of a check, in the order of its suites, and a summary to compare the next version with."""

    check: str
    outcomes: tuple[Outcome, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """No expectation of severity `error` was broken; warnings do not count."""
        return not self.having("failed")

    def having(self, status: Status) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == status)

    def explain(self) -> str:
        """What failed and what is worth a warning, for a person; empty if all is well."""
        sections = []
        for status, verb in (("failed", "failed"), ("warned", "gave a warning")):
            found = [o for o in self.outcomes if o.status == status]
            if found:
                head = f"{self.check}: {len(found)} of {len(self.outcomes)} expectations {verb}."
                sections.append("\n\n".join([head, *(outcome.explain() for outcome in found)]))
        return "\n\n".join(sections)

    def raise_if_failed(self) -> None:
        if not self.success:
            raise CheckFailed(self.explain())

    def to_json(self) -> dict[str, Any]:
        statuses: tuple[Status, ...] = ("passed", "warned", "failed", "skipped")
        return {
            "check": self.check,
            "success": self.success,
            "counts": {status: len(self.having(status)) for status in statuses},
            "expectations": [outcome.to_json() for outcome in self.outcomes],
            "summary": dict(self.summary),
        }


def record(result: CheckResult, folder: Path) -> str:
    """Write `result.json`, and `passed` unless it failed: later stages wait for that file, not for the details."""
    store.write_json(folder / "result.json", result.to_json())
    result.raise_if_failed()
    store.write_text(folder / "passed", "passed\n")
    return result.explain() or "all expectations hold"


def _plain(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"
