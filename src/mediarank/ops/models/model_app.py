"""A packed model over HTTP, on loopback: `python -m mediarank.ops.models.model_app FOLDER DIGEST PORT`.

`POST /invocations` answers as MLflow's own server does, `GET /ping` says that the model is loaded. The files are
compared with their digest before anything in them is opened. Requests are answered one at a time in a thread; files are
decoded in guarded child processes. An error is answered with a sentence, its traceback goes to the server's log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mediarank.ops.models.answering import TooSlow, answer
from mediarank.ops.models.packing import Packed, require_digest, unpack
from mediarank.ops.models.request_body import read_body
from mediarank.ops.models.serving_limits import ServingLimits
from mediarank.ops.services.own_origin import App, OwnOriginOnly
from mediarank.types import MachineFault, MediarankError

HOST: Final = "127.0.0.1"
LOG: Final = logging.getLogger("uvicorn.error")
CODES: Final = {400: "BAD_REQUEST", 408: "REQUEST_TIMEOUT", 413: "BODY_TOO_LARGE", 415: "UNSUPPORTED_MEDIA_TYPE",
                500: "INTERNAL_ERROR", 503: "TEMPORARILY_UNAVAILABLE"}  # fmt: skip


class Refused(Exception):
    """A request that is not answered: the status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ModelServer:
    """The pages of one packed model."""

    def __init__(self, packed: Packed, limits: ServingLimits) -> None:
        self._packed, self._limits = packed, limits
        self._thread = ThreadPoolExecutor(1, "answering")
        self._bodies = asyncio.Semaphore(limits.bodies)

    def app(self, port: int) -> App:
        """The application, for requests that name this machine and come from no other web page."""
        routes = [
            Route("/ping", _ping, methods=["GET"]),
            Route("/health", _ping, methods=["GET"]),
            Route("/invocations", self.invocations, methods=["POST"]),
        ]
        return OwnOriginOnly(Starlette(routes=routes), [f"{HOST}:{port}", f"localhost:{port}"])

    async def invocations(self, request: Request) -> Response:
        """Answer a request, or say why not."""
        until = time.monotonic() + self._limits.request_seconds
        try:
            async with asyncio.timeout(self._limits.request_seconds), self._bodies:
                body = await self._body(request)
                work = partial(self._answer, body, until)
                del body  # the thread has it
                content = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Refused as error:
            return _error(error.status, str(error))
        except (TimeoutError, TooSlow):
            limit = self._limits.request_seconds
            return _error(503, f"There was no answer within {limit:g} s. Ask for less, or later.")
        except ClientDisconnect:
            return _error(400, "The request ended early.")
        except MachineFault as error:
            return _error(503, str(error))
        except MediarankError as error:
            return _error(400, str(error))
        except Exception:
            LOG.exception("A request failed for a reason that mediarank does not know.")
            return _error(500, "The server failed at this request. Its log has the details.")
        return Response(content, media_type="application/json")

    async def _body(self, request: Request) -> bytes:
        """The body, never more of it than is allowed."""
        most = self._limits.max_body_bytes
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "Send JSON with the header `Content-Type: application/json`.")
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared[:20]) > most:
            raise Refused(413, f"The body is larger than {most:,} bytes.")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise Refused(413, f"The body is larger than {most:,} bytes.")
                    parts.append(part)
        except TimeoutError:
            raise Refused(408, f"The body did not come within {self._limits.body_seconds:g} s.") from None
        return b"".join(parts)

    def _answer(self, body: bytes, until: float) -> bytes:
        if time.monotonic() > until:  # the client has had its answer by now
            raise TooSlow("The request waited too long.")
        rows, count = read_body(body, len(self._packed.model.names), self._limits)
        del body
        found = answer(self._packed, rows, count, self._limits, until)
        return json.dumps({"predictions": found.to_dict("records")}, allow_nan=False).encode()


async def _ping(request: Request) -> Response:
    return PlainTextResponse("\n")


def _error(status: int, message: str) -> Response:
    content: dict[str, Any] = {"error_code": CODES[status], "message": message}
    return Response(json.dumps(content), status, media_type="application/json")


def opened(folder: Path, digest: str, limits: ServingLimits) -> Packed:
    """A packed model that is what its digest says, loaded and ready to answer."""
    require_digest(folder, digest)
    packed = unpack(folder, limits.narrowed)
    _ = packed.ranks_items  # which loads the model and its vectors
    return packed


def main() -> None:
    import uvicorn

    folder, digest, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    limits = ServingLimits()
    try:
        packed = opened(folder, digest, limits)
    except MediarankError as error:
        sys.exit(f"error: {error}")
    print(f"Serving {packed.system} at http://{HOST}:{port}/invocations", flush=True)
    uvicorn.run(
        ModelServer(packed, limits).app(port),
        host=HOST,
        port=port,
        log_level="warning",
        server_header=False,
        limit_concurrency=64,
        timeout_keep_alive=5,
        lifespan="off",
        ws="none",
    )


if __name__ == "__main__":
    main()
