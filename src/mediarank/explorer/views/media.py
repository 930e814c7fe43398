"""Pictures, clips and sounds, by item only: a path never comes from the browser."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from mediarank.explorer.app import Explorer, explorer_of
from mediarank.explorer.snapshot import Snapshot
from mediarank.media.sniff import image_format, read_head
from mediarank.media.thumbnails import thumbnails
from mediarank.types import DataError

router = APIRouter()
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
def thumbnail(request: Request, item: str) -> Response:
    """A small JPEG; of what has no picture, such as a sound, a drawn one."""
    explorer = explorer_of(request)
    explorer.snapshot.row(item)
    data = small_picture(explorer.snapshot, item, explorer.thumbnail_side)
    if data is None:
        return FileResponse(Path(__file__).parents[1] / "static/sound.svg", media_type="image/svg+xml", headers=KEPT)
    return Response(data, media_type="image/jpeg", headers=KEPT)


@router.get("/picture")
def picture(request: Request, item: str) -> Response:
    """The original where browsers can show it, else the working copy."""
    snapshot = explorer_of(request).snapshot
    path = original(explorer_of(request), item)
    kind = SHOWN_BY_BROWSERS.get(image_format(read_head(path)) or "")
    if kind:
        return FileResponse(path, media_type=kind, headers=KEPT)
    return FileResponse(working_copy(snapshot, item), media_type="image/jpeg", headers=KEPT)


@router.get("/play")
def play(request: Request, item: str) -> Response:
    """A clip or a sound; browsers ask for the ranges that they play."""
    path = original(explorer_of(request), item)
    return FileResponse(path, media_type=PLAYED.get(path.suffix.lower(), "application/octet-stream"), headers=KEPT)


def original(explorer: Explorer, item: str) -> Path:
    """Where an item's original is."""
    snapshot = explorer.snapshot
    snapshot.row(item)
    usable = snapshot.workspace.manifest.usable
    stored = str(usable["path"].iloc[snapshot.place[item]])
    folder = snapshot.workspace.data / "raw/media"
    path = folder / stored
    if not path.is_file():
        raise DataError(f"The original of {item} is not in {folder}. Run `dvc checkout`.")
    return path


def working_copy(snapshot: Snapshot, item: str) -> Path:
    """The first working copy of a picture or clip."""
    frames = snapshot.workspace.frames
    own = frames[frames["item_id"] == item]
    if own.empty:
        raise DataError(f"{item} has no picture.")
    return snapshot.workspace.data / "frames/media" / str(own["path"].iloc[0])


@lru_cache(maxsize=4)
def _maker(snapshot: Snapshot, side: int):  # type: ignore[no-untyped-def]
    return thumbnails(snapshot.workspace.frames, snapshot.workspace.data / "frames/media", side)


@lru_cache(maxsize=4096)
def small_picture(snapshot: Snapshot, item: str, side: int) -> bytes | None:
    made: bytes | None = _maker(snapshot, side)(item)
    return made
