"""Requests of other pages are refused before the application sees them; programs and own pages are let through."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mediarank.ops.services.own_origin import OwnOriginOnly


def call(kind: str, headers: list[tuple[bytes, bytes]]) -> tuple[bool, list[Any]]:
    """Whether the application was reached, and what was sent."""
    reached, sent = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(OwnOriginOnly(app, ["127.0.0.1:4200"])({"type": kind, "headers": headers}, receive, send))
    return bool(reached), sent


OWN, EVIL = (b"host", b"127.0.0.1:4200"), (b"host", b"evil.example:4200")


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "reached"),
    [
        ([OWN], True),
        ([OWN, (b"origin", b"http://127.0.0.1:4200")], True),
        ([OWN, (b"Origin", b"http://evil.example")], False),
        ([OWN, (b"origin", b"null")], False),
        ([OWN, (b"origin", b"http://127.0.0.1:4201")], False),
        ([OWN, (b"origin", b"http://127.0.0.1:4200"), (b"origin", b"http://evil.example")], False),
        ([EVIL], False),
        ([OWN, EVIL], False),
        ([], False),
    ],
)
def test_only_own_hosts_and_origins_reach_the_application(
    kind: str, headers: list[tuple[bytes, bytes]], reached: bool
) -> None:
    found, sent = call(kind, headers)
    assert found is reached
    if not reached:
        assert sent[0].get("status", 403) == 403
        assert sent[0]["type"] == ("http.response.start" if kind == "http" else "websocket.close")


def test_the_start_and_end_of_the_server_pass() -> None:
    assert call("lifespan", [])[0]
