"""Compare two runs: what changed in data, settings, code and metrics, and whether the change in metrics is noise.

Values per query are paired by method and query, so only queries of both runs count. The p-values are those of
a paired randomisation test, corrected after Holm because there are many of them.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from mediarank.evaluation.significance import paired_randomisation
from mediarank.ops.runs.recorded_runs import Run, Runs
from mediarank.ops.versions.changes import DataChanges, data_changes, param_changes, source_changes
from mediarank.ops.versions.objects import MissingObject, Objects
from mediarank.types import DataError

PER_QUERY = "per_query.parquet"
LEVEL = 0.05


@dataclass(frozen=True)
class MetricChange:
    """A method's mean in both runs over their common queries.

    p : corrected for all comparisons; NaN if there is nothing to compare
    """

    system: str
    method: str
    metric: str
    before: float
    after: float
    queries: int
    p: float

    @property
    def change(self) -> float:
        return self.after - self.before

    @property
    def verdict(self) -> str:
        if math.isnan(self.p):
            return "no query in common"
        if self.p >= LEVEL:
            return "within noise"
        return "better" if self.change > 0 else "worse"


@dataclass(frozen=True)
class Comparison:
    """Two runs compared.

    data : None if the contents of one of the two are gone
    gone, new : `system/method` that only one run has
    """

    before: Run
    after: Run
    data: DataChanges | None
    params: dict[str, tuple[str, str]]
    sources: tuple[str, ...]
    metrics: tuple[MetricChange, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def summary(self) -> str:
        """Everything except the metrics, as text."""
        lines = [
            f"before  {self.before}",
            f"after   {self.after}",
            f"data    {self.data.summary() if self.data is not None else 'not in the cache or remote'}",
            "params  " + ("unchanged" if not self.params else f"{len(self.params)} changed"),
            *(f"        {name}: {old or '-'} -> {new or '-'}" for name, (old, new) in self.params.items()),
            "code    " + (", ".join(self.sources) or "unchanged"),
            *(f"gone    {method}" for method in self.gone),
            *(f"new     {method}" for method in self.new),
        ]
        return "\n".join(lines)


def compare_runs(
    runs: Runs, objects: Objects, before: str, after: str, *, every_metric: bool = False, seed: int = 7
) -> Comparison:
    """Compare the run `after` with the run `before`.

    every_metric : test all metrics, not only the first of each system
    """
    one, other = runs.find(before), runs.find(after)
    locks = runs.lock(one), runs.lock(other)
    try:
        data = data_changes(*locks, objects)
    except MissingObject:
        data = None
    tables = [_per_query(runs, run) for run in (one, other)]
    methods = [{(system, method) for system, t in table.items() for method in t["method"].unique()} for table in tables]
    changes = [
        change
        for system in sorted(tables[0].keys() & tables[1].keys())
        for change in _metric_changes(system, tables[0][system], tables[1][system], every_metric, seed)
    ]
    corrected = holm([change.p for change in changes])
    return Comparison(
        before=one,
        after=other,
        data=data,
        params=param_changes(*locks),
        sources=source_changes(*locks),
        metrics=tuple(
            MetricChange(c.system, c.method, c.metric, c.before, c.after, c.queries, p)
            for c, p in zip(changes, corrected, strict=True)
        ),
        gone=tuple("/".join(names) for names in sorted(methods[0] - methods[1])),
        new=tuple("/".join(names) for names in sorted(methods[1] - methods[0])),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method (1979): the chance of even one false alarm among all. NaN stays NaN."""
    order = sorted((k for k, p in enumerate(p_values) if not math.isnan(p)), key=lambda k: p_values[k])
    corrected = list(p_values)
    highest = 0.0
    for rank, k in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[k]))
        corrected[k] = highest
    return corrected


def _metric_changes(
    system: str, before: pd.DataFrame, after: pd.DataFrame, every_metric: bool, seed: int
) -> list[MetricChange]:
    metrics = [name for name in before.columns if name in after.columns and before[name].dtype.kind == "f"]
    joined = before.merge(after, on=["method", "query"], suffixes=("", " after"), validate="one_to_one")
    changes = []
    for method in sorted(set(before["method"]) & set(after["method"])):
        rows = joined[joined["method"] == method]
        for metric in metrics if every_metric else metrics[:1]:
            pair = rows[[metric, f"{metric} after"]].dropna()
            old, new = pair[metric].to_numpy(), pair[f"{metric} after"].to_numpy()
            p = paired_randomisation(old, new, seed=seed)
            means = (float(old.mean()), float(new.mean())) if len(pair) else (math.nan, math.nan)
            changes.append(MetricChange(system, method, metric, *means, len(pair), p))
    return changes


def _per_query(runs: Runs, run: Run) -> dict[str, pd.DataFrame]:
    """System -> table with one row per method and query; skipped systems are left out."""
    tables = {}
    for system, run_id in runs.systems(run).items():
        try:
            table = pd.read_parquet(io.BytesIO(runs.artifact(run_id, PER_QUERY)))
        except DataError:  # a system that has no queries
            continue
        if len(table):
            tables[system] = table
    return tables
