"""Access checks that every request passes before a page sees it.

On loopback only the address that was opened counts as Host and Origin, so that no other web page can read or change
anything, whatever name it gives this machine. On any other address a token is asked for, which the start prints. State
changes come by POST with the page's own token.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

COOKIE: Final = "mediarank-access"
UPLOAD_BYTES: Final = 64 * 1024**2
FORM_BYTES: Final = 1024**2
UPLOAD_PATH: Final = "/search/file"
TOKEN_FIELD: Final = "token"  # noqa: S105 - the name of a field
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]", "::1")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers would then send forms of our own pages with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True)
class Doors:
    """
    host, port : where the explorer listens
    access : the token that an address other than loopback asks for
    page_token : that every form carries
    """

    host: str
    port: int
    access: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    page_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def open_to_others(self) -> bool:
        return self.host not in LOOPBACK

    @property
    def address(self) -> str:
        """What to open in a browser."""
        shown = "127.0.0.1" if self.host in LOOPBACK else self.host
        return f"http://{shown}:{self.port}/" + (f"?access={self.access}" if self.open_to_others else "")

    def knows_host(self, given: str) -> bool:
        """Whether a Host header names this server; a foreign name means a page that was led here."""
        name = urlsplit(f"//{given}")
        try:
            port = name.port or 80
        except ValueError:
            return False
        allowed = {*(one.strip("[]") for one in LOOPBACK), self.host} if not self.open_to_others else {self.host}
        return name.hostname in allowed and port == self.port

    def knows_origin(self, given: str | None) -> bool:
        """Whether an Origin header is ours; requests of the browser's own address bar have none."""
        return given is None or (given.startswith("http://") and self.knows_host(given.removeprefix("http://")))

    def has_access(self, request: Request) -> bool:
        return not self.open_to_others or hmac.compare_digest(request.cookies.get(COOKIE, ""), self.access)

    def has_page_token(self, given: object) -> bool:
        return isinstance(given, str) and hmac.compare_digest(given.encode(), self.page_token.encode())


class Guard(BaseHTTPMiddleware):
    """Refuse what does not come from our own pages, and set the headers that keep pages to themselves."""

    def __init__(self, app: Callable[..., Awaitable[None]], doors: Doors) -> None:
        super().__init__(app)
        self._doors = doors

    async def dispatch(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = self._refusal(request) or await call_next(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _refusal(self, request: Request) -> Response | None:
        doors = self._doors
        if not doors.knows_host(request.headers.get("host", "")):
            return PlainTextResponse(f"This is the explorer at {doors.address.partition('?')[0]}.", 421)
        if not doors.knows_origin(request.headers.get("origin")) or _from_another_page(request):
            return PlainTextResponse("Requests from other pages are refused.", 403)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are answered.", 405)
        if request.method == "POST" and (refused := _too_large(request)):
            return refused
        given = request.query_params.get("access")
        if given is not None and hmac.compare_digest(given.encode(), doors.access.encode()):
            welcome = RedirectResponse(request.url.path, 303)
            welcome.set_cookie(COOKIE, doors.access, httponly=True, samesite="strict")
            return welcome
        if not doors.has_access(request):
            return PlainTextResponse("Open the address that `mediarank explore` printed; it has the access token.", 401)
        return None


def _from_another_page(request: Request) -> bool:
    """Whether the browser says that another site sent this; following a link to us is fine."""
    foreign = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    followed = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    return foreign and not followed


def _too_large(request: Request) -> Response | None:
    """Refuse a body that is too large, or that does not say how large it is, before it is read."""
    length = request.headers.get("content-length", "")
    most = UPLOAD_BYTES if request.url.path == UPLOAD_PATH else FORM_BYTES
    if not length.isdecimal():
        return PlainTextResponse("The request does not say how long it is.", 411)
    if int(length) > most + FORM_BYTES:
        return PlainTextResponse(f"Up to {most // 1024**2} MB can be sent here.", 413)
    return None
