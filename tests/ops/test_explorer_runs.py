"""The explorer's page of recorded runs: two of them compared, with what changed and what is noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from mediarank.asking.describe import Copying
from mediarank.explorer.app import create_app
from mediarank.explorer.doors import Doors
from mediarank.ops.runs.recorded_runs import Runs


@pytest.fixture
def client(tracked: Path) -> TestClient:
    return TestClient(create_app(tracked, Doors("127.0.0.1", 8765), Copying), base_url="http://127.0.0.1:8765")


def test_recorded_runs_are_listed_newest_first_with_two_chosen(client: TestClient, tracked: Path) -> None:
    page = client.get("/versions/runs").text
    newest, oldest = (run.run_id for run in Runs(tracked).all())
    assert page.index(newest) < page.index(oldest)
    assert f'name="after" value="{newest}" aria-label' in page
    assert "Compare the two" in page
    assert "There is only one run" not in page


def test_two_runs_are_compared_with_a_verdict_per_figure(client: TestClient, tracked: Path) -> None:
    runs = Runs(tracked)
    before, after = runs.find("v1").run_id, runs.find("v2").run_id
    page = client.get("/versions/runs", params={"before": before, "after": after}).text
    assert "+1 -1 ~1 items; classes +2 -2" in page
    assert "collection.seed: 7 -&gt; 8" in page
    assert "<td>better</td>" in page
    assert "<td>within noise</td>" in page
    assert "<td>worse</td>" in client.get("/versions/runs", params={"before": after, "after": before}).text
    assert client.get("/versions/runs", params={"before": "gone", "after": after}).status_code == 200
