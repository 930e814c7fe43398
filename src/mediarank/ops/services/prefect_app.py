"""The Prefect server as `make up` and compose.yaml run it: Prefect's own application, for its own pages only.

`uvicorn --factory mediarank.ops.services.prefect_app:create_app`. `MEDIARANK_HOSTS` lists the hosts that requests may
name, separated by commas.
"""

from __future__ import annotations

import os

from mediarank.ops.services.own_origin import OwnOriginOnly

HOSTS = "MEDIARANK_HOSTS"


def create_app() -> OwnOriginOnly:
    from prefect.server.api.server import create_app as create_prefect_app
    from prefect.settings import PREFECT_SERVER_API_AUTH_STRING

    from mediarank.types import ConfigError

    hosts = [host for host in os.environ.get(HOSTS, "").split(",") if host]
    if not hosts:
        raise ConfigError(f"{HOSTS} must list the hosts that this server answers to, such as 127.0.0.1:4200.")
    if not PREFECT_SERVER_API_AUTH_STRING.value():
        raise ConfigError("PREFECT_SERVER_API_AUTH_STRING must be set: without it anyone here can start runs.")
    return OwnOriginOnly(create_prefect_app(final=True), hosts)
