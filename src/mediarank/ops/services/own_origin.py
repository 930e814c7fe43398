"""Refuse requests from other web pages, whatever the server behind would do with them.

A page in the user's browser may send requests to loopback, and may make its own host name resolve to it. Both can be
recognised: the first by the header `Origin`, the second by `Host`. Programs such as curl send no `Origin` and are let
through; the server itself authenticates them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class OwnOriginOnly:
    """Wrap an ASGI application so that only its own pages reach it.

    hosts : the host names that a request may use, including the port, such as `127.0.0.1:4200`
    """

    def __init__(self, app: App, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = {f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_own(scope):
            await _refuse(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        return len(hosts) == 1 and hosts[0] in self._hosts and all(origin in self._origins for origin in origins)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    body = b"This server answers its own pages only.\n"
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
