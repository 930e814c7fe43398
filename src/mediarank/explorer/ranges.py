"""Send a file to the browser, wherever its bytes are; browsers ask for the ranges of a clip or sound that they play."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fastapi import Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from mediarank.media.files import File, Slice

_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_BLOCK: Final = 1 << 18


def send(request: Request, file: File, media_type: str, headers: Mapping[str, str]) -> Response:
    """The whole file, or the one range that the request names; several ranges at once give the whole file."""
    if isinstance(file, Path):
        return FileResponse(file, media_type=media_type, headers=dict(headers))
    length = file.length if isinstance(file, Slice) else len(file.content)
    start, end, code = 0, length, 200
    named = _RANGE.fullmatch(request.headers.get("range", "").strip())
    more = {**headers, "accept-ranges": "bytes"}
    if named and any(named.groups()):
        first, last = named.groups()
        start = int(first) if first else max(0, length - int(last))
        end = min(length, int(last) + 1) if first and last else length
        if start >= end:
            return Response(status_code=416, headers={**more, "content-range": f"bytes */{length}"})
        code = 206
        more["content-range"] = f"bytes {start}-{end - 1}/{length}"
    more["content-length"] = str(end - start)
    return StreamingResponse(_blocks(file, start, end), code, more, media_type)


def _blocks(file: File, start: int, end: int) -> Iterator[bytes]:
    with file.open("rb") as content:
        content.seek(start)
        while start < end and (block := content.read(min(_BLOCK, end - start))):
            start += len(block)
            yield block
