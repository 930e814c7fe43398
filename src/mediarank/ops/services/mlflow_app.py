"""The MLflow server as `make up` runs it: MLflow's own application, whose first page is the list of our runs.

MLflow keeps what a browser shows in that browser: which kind of work, which columns, whether usage data is sent. A new
browser would open on pages about language models, without a metric, with an assistant beside them and with "telemetry:
on". A few lines in the page set those values where the browser has none yet; whatever the user chooses stays.
`uvicorn --factory mediarank.ops.services.mlflow_app:create_app` runs it in the project's folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mediarank.ops.runs.tracked_values import NEW_TAG, column, summaries
from mediarank.ops.runs.tracking import ARTIFACTS, experiment_id
from mediarank.ops.services.own_origin import App, OwnOriginOnly, Receive, Scope, Send
from mediarank.types import MediarankError

STORE: Final = "MEDIARANK_MLFLOW_STORE"
HOSTS: Final = "MLFLOW_SERVER_ALLOWED_HOSTS"
QUIET: Final = {
    "mlflow.workflowType_v1": "machine_learning",
    "mlflow.settings.telemetry.enabled_v1": False,
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "mlflow.assistant.panelOpen_v1": False,
    "mlflow.detectIssues.guidanceShown_v1": True,
}
LIST: Final = "#/experiments/{experiment}/runs?workflowType=machine_learning"


def list_path(experiment: str) -> str:
    """The list of our runs, below the server's address; empty if there is none yet."""
    return LIST.format(experiment=experiment) if experiment else ""


def kept_values(experiment: str, columns: list[str]) -> dict[str, str]:
    """What a new browser is given: name -> value in its local storage."""
    values = {name: json.dumps(value) for name, value in QUIET.items()}
    if experiment:
        chosen = ["attributes.`Created`", *(f"metrics.`{name}`" for name in columns), f"tags.`{NEW_TAG}`"]
        view = {"orderByKey": "attributes.start_time", "orderByAsc": False, "selectedColumns": chosen}
        values[f'MLflowLocalStorage-1.1-ExperimentPage-["{experiment}"]-ReactComponentState'] = json.dumps(view)
    return values


def first_page(html: bytes, experiment: str, columns: list[str]) -> bytes:
    """MLflow's page with a script before all others."""
    script = (
        f"for (const [name, value] of Object.entries({json.dumps(kept_values(experiment, columns))}))"
        " if (localStorage.getItem(name) === null) localStorage.setItem(name, value);"
    )
    if experiment:
        script += f" if (location.hash.length < 3) location.hash = {json.dumps(list_path(experiment))};"
    safe = script.replace("</", "<\\/")  # a name can't end the script
    return html.replace(b"<head>", f"<head><script>{safe}</script>".encode(), 1)


class FirstPage:
    """Wrap MLflow's application so that its page at `/` starts as ours; everything else passes unchanged.

    view : gives the experiment's id and the columns of its list
    """

    def __init__(self, app: App, view: Callable[[], tuple[str, list[str]]]) -> None:
        self._app, self._view = app, view

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        started: dict[str, Any] = {}
        body = bytearray()

        async def hold(message: Any) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                page = first_page(bytes(body), *self._view())
                changing = (b"content-length", b"etag", b"last-modified")
                kept = [(name, value) for name, value in started["headers"] if name.lower() not in changing]
                await send({**started, "headers": [*kept, (b"content-length", str(len(page)).encode())]})
                await send({"type": "http.response.body", "body": page})

        asking = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(b"if-")]
        await self._app({**scope, "headers": asking}, receive, hold)


def variables(store: str, host: str) -> dict[str, str]:
    """The environment of the server: its store, and the only host that it answers to."""
    return {
        STORE: store,
        HOSTS: f"{host},{host.replace('127.0.0.1', 'localhost')}",
        "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS": f"http://{host}",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


def for_own_pages(app: App, view: Callable[[], tuple[str, list[str]]], hosts: str) -> OwnOriginOnly:
    """MLflow's application with our first page. By itself it would take orders from pages of every other local port.

    hosts : that requests may name, separated by commas
    """
    return OwnOriginOnly(FirstPage(app, view), hosts.split(","))


def create_app() -> OwnOriginOnly:
    root, store = Path.cwd(), os.environ[STORE]
    from mlflow import server

    # What `mlflow server` sets before it starts its workers.
    settings: Mapping[str, str] = {
        server.BACKEND_STORE_URI_ENV_VAR: store,
        server.REGISTRY_STORE_URI_ENV_VAR: store,
        server.ARTIFACT_ROOT_ENV_VAR: "mlflow-artifacts:/",
        server.SERVE_ARTIFACTS_ENV_VAR: "true",
        server.ARTIFACTS_DESTINATION_ENV_VAR: str(root / ARTIFACTS),
    }
    os.environ.update(settings)
    from mlflow.server.fastapi_app import app

    def view() -> tuple[str, list[str]]:
        now: Mapping[str, Any] = {}
        with suppress(MediarankError):  # a damaged report costs the columns, not the page
            now = summaries(root)[1]
        return experiment_id(store), [column(name, found) for name, found in now.get("systems", {}).items()]

    return for_own_pages(app, view, os.environ[HOSTS])
