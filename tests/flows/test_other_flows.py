"""Ingest, promotion and rollback as flows, and their entries in prefect.yaml, on a real Prefect server."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deployments
import ingest as ingest_module
import pipeline as pipeline_module
import promote as promote_module
import pytest
import rollback as rollback_module
import yaml
from prefect.client.orchestration import get_client
from prefect.events.filters import EventFilter, EventNameFilter, EventOccurredFilter
from prefect.states import State
from prefect.types._datetime import now
from toy_project import REPOSITORY, change, ran

sys.path.insert(0, str(REPOSITORY / "tests/ops"))
import fitted_project
import versioned_project

from mediarank.ops.models.model_registry import CHAMPION, Registry
from mediarank.ops.runs.workspace_run import PipelineRun
from mediarank.types import ConfigError

pytestmark = pytest.mark.usefixtures("prefect_server")


def told_since(start: Any, count: int) -> list[Any]:
    """Events of ours, once there are `count` of them: the server learns of them a moment later."""
    chosen = EventFilter(
        event=EventNameFilter(prefix=["mediarank."]), occurred=EventOccurredFilter(since=start, until=now("UTC"))
    )
    deadline = time.monotonic() + 240
    with get_client(sync_client=True) as client:
        while True:
            chosen.occurred.until = now("UTC")
            answer = client._client.post("/events/filter", json={"filter": chosen.model_dump(mode="json")})
            found = answer.json()["events"]
            if len(found) >= count or time.monotonic() > deadline:
                return sorted(found, key=lambda event: str(event["occurred"]))
            time.sleep(0.2)


@pytest.fixture
def _import_path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefect adds the folders of the flows that it loads to the import path."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.usefixtures("_import_path_as_before")
def test_prefect_yaml_declares_what_is_served() -> None:
    declared = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())["deployments"]
    served = {deployment.name: deployment for deployment in deployments.declared(REPOSITORY)}
    assert set(served) == {entry["name"] for entry in declared} == {"nightly", "ingest", "promote", "rollback"}
    assert served["nightly"].flow_name == "pipeline"
    assert served["nightly"].parameters == {"promote": True}
    assert [schedule.schedule.cron for schedule in served["nightly"].schedules] == ["0 2 * * *"]
    assert not any(served[name].schedules for name in ("ingest", "promote", "rollback"))
    assert {entry["work_pool"]["name"] for entry in declared} == {"mediarank"}, "for who deploys to workers"


def test_no_run_lasts_longer_than_a_day() -> None:
    flows = (pipeline_module.pipeline, ingest_module.ingest, promote_module.promote, rollback_module.rollback)
    assert {flow.timeout_seconds for flow in flows} == {24 * 3600}, "or it would be in the way of the next night's"


@pytest.mark.usefixtures("_import_path_as_before")
def test_the_night_can_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_NIGHTLY", "30 4 * * 1")
    served = {deployment.name: deployment for deployment in deployments.declared(REPOSITORY)}
    assert [schedule.schedule.cron for schedule in served["nightly"].schedules] == ["30 4 * * 1"]


def test_ingest_runs_what_leads_to_the_working_copies_and_no_more(
    finished_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "LAST", "sides@left")
    change(finished_project, "source", 11)
    start, before = now("UTC"), len(ran(finished_project))
    state: State[Any] = ingest_module.ingest(workspace=str(finished_project), return_state=True)
    assert state.is_completed(), state.message
    assert ran(finished_project)[before:] == ["source", "left"]
    names = state.result(raise_on_failure=False)
    assert names == {"source": "Completed", "sides@left": "Completed", "ingest": "Completed"}
    assert [event["event"] for event in told_since(start, 1)] == ["mediarank.ingest.finished"]


def test_a_stage_that_is_not_planned_is_named(finished_project: Path) -> None:
    with (
        PipelineRun(finished_project, print, seconds=60) as run,
        pytest.raises(ConfigError, match="plans no stage 'frames'; it plans source"),
    ):
        run.leading_to("frames")


def test_a_promotion_that_fails_says_why_and_emits_an_event(new_project: Callable[[], Path]) -> None:
    start = now("UTC")
    state: State[Any] = promote_module.promote(workspace=str(new_project()), return_state=True)
    assert state.is_failed()
    assert "left is not a known section" in str(state.message) or "source is not a known section" in str(state.message)
    (event,) = told_since(start, 1)
    assert event["event"] == "mediarank.promote.failed"
    assert event["payload"]["failed"] == ["promote"]
    assert event["resource"]["prefect.resource.id"].startswith("mediarank.workspace.")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_promotion_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    project = fitted_project.make(tmp_path / "project")
    start = now("UTC")
    state: State[Any] = promote_module.promote(workspace=str(project), return_state=True)
    assert state.is_completed(), state.message
    champion = Registry(project).bearing("retrieval", CHAMPION)
    assert champion is not None
    promoted, finished = told_since(start, 2)
    assert (promoted["event"], finished["event"]) == ("mediarank.model.promoted", "mediarank.promote.finished")
    assert (promoted["payload"]["system"], promoted["payload"]["candidate"]) == ("retrieval", champion.number)


@pytest.mark.slow
@pytest.mark.central
@pytest.mark.timeout(600)
def test_a_rollback_brings_the_version_back(tmp_path: Path) -> None:
    project = versioned_project.make(tmp_path / "project", tmp_path / "remote")
    former = versioned_project.git(project, "show", "v1:dvc.lock")
    state: State[Any] = rollback_module.rollback("v1", workspace=str(project), return_state=True)
    assert state.is_completed(), state.message
    assert (project / "dvc.lock").read_text().strip() == former.strip()
    assert (project / "data/raw/media/images/forest.jpg").read_text() == "picture of forest"
    refused: State[Any] = rollback_module.rollback("v9", workspace=str(project), return_state=True)
    assert refused.is_failed()
    assert "v9" in str(refused.message)
