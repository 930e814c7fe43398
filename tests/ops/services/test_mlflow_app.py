"""A new browser opens MLflow on our runs, quiet; what a user has chosen stays, and nothing else is changed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route

from mediarank.ops.services.mlflow_app import HOSTS, first_page, for_own_pages, kept_values, list_path, variables

PAGE = "<!doctype html><html><head><title>MLflow</title></head><body></body></html>"


def client(experiment: str = "7") -> TestClient:
    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse(PAGE, headers={"etag": "x"})

    async def other(_: Request) -> PlainTextResponse:
        return PlainTextResponse("<head>")

    app: Any = Starlette(routes=[Route("/", page), Route("/other", other)])
    hosts = variables("sqlite:///x.db", "127.0.0.1:5000")[HOSTS]
    ours = for_own_pages(app, lambda: (experiment, ["concepts mAP"]), hosts)
    return TestClient(ours, base_url="http://127.0.0.1:5000")


def test_the_first_page_sets_what_a_new_browser_lacks() -> None:
    answer = client().get("/")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "etag" not in answer.headers, "the page depends on the runs"
    script = re.findall(r"<head><script>(.*?)</script><title>", answer.text)[0]
    values = json.loads(script[script.index("({") + 1 : script.index("}))") + 1])
    assert values["mlflow.settings.telemetry.enabled_v1"] == "false"
    assert values["mlflow.workflowType_v1"] == '"machine_learning"'
    view = json.loads(values['MLflowLocalStorage-1.1-ExperimentPage-["7"]-ReactComponentState'])
    assert view["selectedColumns"] == ["attributes.`Created`", "metrics.`concepts mAP`", "tags.`mediarank.new`"]
    assert "=== null" in script, "a value that is there stays"
    assert list_path("7") in script


def test_other_pages_pass_unchanged() -> None:
    assert client().get("/other").text == "<head>"
    assert client().post("/").status_code == 405


def test_before_the_first_run_there_is_no_list_to_open() -> None:
    assert list_path("") == ""
    assert "location" not in client("").get("/").text
    assert not any("ExperimentPage" in name for name in kept_values("", []))


def test_a_name_can_not_end_the_script() -> None:
    page = first_page(PAGE.encode(), "7", ["</script><b>"]).decode()
    assert page.count("</script>") == 1
    assert "<b>" not in page.replace("<b>", "", 0).split("</script>")[1]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:5000"}, 200),
        ({"Host": "localhost:5000", "Origin": "http://localhost:5000"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),  # another program of this machine; MLflow itself would obey it
        ({"Host": "evil.example:5000"}, 403),
    ],
)
def test_other_pages_reach_nothing(headers: dict[str, str], status: int) -> None:
    for path in ("/", "/other"):
        assert client().get(path, headers=headers).status_code == status


def test_only_its_own_address_is_answered() -> None:
    given = variables("sqlite:///x.db", "127.0.0.1:5000")
    assert given["MLFLOW_SERVER_ALLOWED_HOSTS"] == "127.0.0.1:5000,localhost:5000"
    assert given["MLFLOW_SERVER_CORS_ALLOWED_ORIGINS"] == "http://127.0.0.1:5000"
