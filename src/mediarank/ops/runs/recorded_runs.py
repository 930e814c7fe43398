"""The runs that `mediarank track` recorded, read from MLflow and found by id, name, commit or tag.

A run is one version of the results. Its lock, plan and settings are among its artifacts, so that everything about it
can be answered without checking it out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mediarank.ops.runs.tracked_values import LOCK_TAG, SYSTEM_TAG
from mediarank.ops.runs.tracking import EXPERIMENT, PARENT_TAG, connect, tracking_uri
from mediarank.ops.versions.history import find_version
from mediarank.ops.versions.lockfile import LOCK, PARAMS, PLAN, Lock, parse_lock
from mediarank.types import DataError


@dataclass(frozen=True)
class Run:
    """One version of the results; `metrics` are named `system/method/metric`."""

    run_id: str
    name: str
    when: datetime
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    @property
    def lock_key(self) -> str:
        return self.tags[LOCK_TAG]

    def __str__(self) -> str:
        return f"{self.run_id[:8]} ({self.name}, {self.when.astimezone():%Y-%m-%d %H:%M})"


class Runs:
    """The finished runs of the project at `root`, in its tracking store or in another one (`uri`)."""

    def __init__(self, root: Path, uri: str | None = None) -> None:
        self._root = root.resolve()
        self._store = tracking_uri(self._root, uri)
        self._mlflow = connect(self._store)
        found = self._mlflow.get_experiment_by_name(EXPERIMENT)
        if found is None:
            raise DataError(f"Nothing was recorded in {self._store} yet; run mediarank run, which records its results.")
        self._experiment = found.experiment_id

    @property
    def experiment(self) -> str:
        """MLflow's id of the experiment, for addresses in its UI."""
        return str(self._experiment)

    def all(self) -> list[Run]:
        """Every version's run, newest first."""
        return [_run(found) for found in self._search(f"tags.`{LOCK_TAG}` != '' AND attributes.status = 'FINISHED'")]

    def find(self, name: str) -> Run:
        """The run that a name stands for.

        It may be an id or the beginning of one, of a run or of a system's nested run, or a run's name, or a commit or
        tag whose results were recorded.
        """
        known = self.all()
        matching = [run for run in known if run.run_id.startswith(name) or name in (run.name, run.name.split()[0])]
        if not matching:
            above = {found.data.tags[PARENT_TAG] for found in self._search(f"tags.`{SYSTEM_TAG}` != ''")
                     if found.info.run_id.startswith(name) and PARENT_TAG in found.data.tags}  # fmt: skip
            matching = [run for run in known if run.run_id in above]
        if not matching:
            matching = [run for run in known if run.lock_key == self._version_key(name)]
        if len(matching) != 1:
            some = "; ".join(map(str, (matching or known)[:5])) or "none"
            what = f"{len(matching)} runs are named" if matching else "There is no run"
            raise DataError(f"{what} {name!r}. Give an id, the beginning of one, or a version. The newest are: {some}")
        return matching[0]

    def lock(self, run: Run) -> Lock:
        """What ran, on which data, with which settings."""
        lock, plan, params = (self.artifact(run.run_id, name) for name in (LOCK, PLAN, PARAMS))
        return parse_lock(self._root, lock, plan, params, f"run {run.run_id[:8]}")

    def systems(self, run: Run) -> dict[str, str]:
        """System -> id of its nested run."""
        nested = self._search(f"tags.`{PARENT_TAG}` = '{run.run_id}'")
        return {found.data.tags[SYSTEM_TAG]: found.info.run_id for found in nested}

    def artifact(self, run_id: str, path: str) -> bytes:
        from mlflow.exceptions import MlflowException

        with tempfile.TemporaryDirectory() as folder:
            try:
                return Path(self._mlflow.download_artifacts(run_id, path, folder)).read_bytes()
            except (MlflowException, OSError) as error:
                raise DataError(f"Run {run_id[:8]} has no {path} in MLflow any more: {error}") from error

    def _search(self, which: str) -> Iterator[Any]:
        token = None
        while True:
            page = self._mlflow.search_runs([self._experiment], which, order_by=["start_time DESC"], page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def _version_key(self, name: str) -> str | None:
        try:
            return find_version(self._root, name).lock.key
        except DataError:
            return None


def _run(found: Any) -> Run:
    when = datetime.fromtimestamp(found.info.start_time / 1000, UTC)
    return Run(found.info.run_id, found.info.run_name, when, dict(found.data.tags), dict(found.data.metrics))
