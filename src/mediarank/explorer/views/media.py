"""Pictures, clips and sounds, by item only: a path never comes from the browser."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

import pandas as pd
from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from mediarank.asking.workspace import Workspace
from mediarank.explorer.app import Explorer, explorer_of
from mediarank.explorer.ranges import send
from mediarank.explorer.snapshot import Snapshot
from mediarank.media.damaged_pictures import what_is_left
from mediarank.media.files import File, place_of
from mediarank.media.sniff import image_format, read_head
from mediarank.media.thumbnails import small_jpeg, thumbnails
from mediarank.media.working import read_picture
from mediarank.types import DataError

router = APIRouter()
LARGE: Final = 900
"""Pixels of the longer side of a picture that fills most of a page."""
LOOKING: Final = threading.Lock()
"""Held while a damaged file is looked at, each in a process of its own: one at a time is enough."""
KEPT: Final = {"Cache-Control": "private, max-age=86400"}
SHOWN_BY_BROWSERS: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
PLAYED: Final = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/mp4",
    ".webm": "video/webm",
    ".mkv": "video/webm",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
}


@router.get("/thumbnail")
def thumbnail(request: Request, item: str, large: bool = False) -> Response:
    """A small JPEG; of what has no picture, such as a sound or a damaged file, a drawn one."""
    explorer = explorer_of(request)
    snapshot = explorer.snapshot
    row, side = snapshot.row(item), LARGE if large else explorer.thumbnail_side
    if row["quarantine"]:
        left = _left(explorer, str(row["sha256"]), item, side) if row["kind"] == "image" else None
        return _drawn("damaged.svg") if left is None else Response(left, media_type="image/jpeg", headers=KEPT)
    data = small_picture(snapshot.workspace, item, side)
    return _drawn("sound.svg") if data is None else Response(data, media_type="image/jpeg", headers=KEPT)


@router.get("/frame")
def frame(request: Request, item: str, index: int) -> Response:
    """One frame of a clip, small."""
    explorer = explorer_of(request)
    explorer.snapshot.row(item)
    frames = frames_of(explorer.snapshot.workspace, item)
    own = frames[frames["index"] == index]
    if own.empty:
        raise DataError(f"{item} has no frame {index}.")
    copies = explorer.snapshot.workspace.copies
    data = small_jpeg(read_picture(copies[str(own["path"].iloc[0])]), explorer.thumbnail_side)
    return Response(data, media_type="image/jpeg", headers=KEPT)


@router.get("/picture")
def picture(request: Request, item: str) -> Response:
    """The original where browsers can show it, else the working copy."""
    snapshot = explorer_of(request).snapshot
    file = original(explorer_of(request), item)
    kind = SHOWN_BY_BROWSERS.get(image_format(read_head(file)) or "")
    if kind:
        return send(request, file, kind, KEPT)
    return send(request, working_copy(snapshot, item), "image/jpeg", KEPT)


@router.get("/play")
def play(request: Request, item: str) -> Response:
    """A clip or a sound; browsers ask for the ranges that they play."""
    file = original(explorer_of(request), item)
    return send(request, file, PLAYED.get(file.suffix.lower(), "application/octet-stream"), KEPT)


def original(explorer: Explorer, item: str) -> File:
    """An item's original."""
    snapshot = explorer.snapshot
    path, originals = str(snapshot.row(item)["path"]), snapshot.workspace.originals
    place = place_of(originals[path]) if path in originals else None
    if place is None or not place.is_file():
        raise DataError(f"The original of {item} is not in {originals.folder}. Run `dvc checkout`.")
    return originals[path]


def working_copy(snapshot: Snapshot, item: str) -> File:
    """The first working copy of a picture or clip."""
    own = frames_of(snapshot.workspace, item)
    if own.empty:
        raise DataError(f"{item} has no picture.")
    return snapshot.workspace.copies[str(own["path"].iloc[0])]


def frames_of(workspace: Workspace, item: str) -> pd.DataFrame:
    """The working copies of one item, in order."""
    return workspace.frames.iloc[_rows_of(workspace).get(item, [])]


@lru_cache(maxsize=2)
def _rows_of(workspace: Workspace) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row, item in enumerate(workspace.frames["item_id"].tolist()):
        found.setdefault(item, []).append(row)
    return found


@lru_cache(maxsize=4)
def _maker(workspace: Workspace, side: int) -> Callable[[str], bytes | None]:
    return thumbnails(workspace.frames, workspace.copies, side)


@lru_cache(maxsize=4096)
def small_picture(workspace: Workspace, item: str, side: int) -> bytes | None:
    return _maker(workspace, side)(item)


@lru_cache(maxsize=256)
def _left(explorer: Explorer, sha256: str, item: str, side: int) -> bytes | None:
    """What a damaged file still shows. sha256 : of its content, so that a repaired file is looked at again"""
    try:
        path = original(explorer, item)
    except DataError:
        return None
    with LOOKING:
        return what_is_left(path, side, explorer.snapshot.workspace.copying().limits)


def _drawn(name: str) -> Response:
    return FileResponse(Path(__file__).parents[1] / "static" / name, media_type="image/svg+xml", headers=KEPT)
