"""Dropped files: limits of bytes, pixels and seconds, refused in words, and nothing is left behind."""

from __future__ import annotations

import io
from pathlib import Path

import fitted_project
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from mediarank.explorer import doors as checks
from mediarank.explorer.doors import Doors
from mediarank.explorer.views import search
from mediarank.media.limits import Limits


def post(client: TestClient, doors: Doors, content: bytes) -> object:
    return client.post("/search/file", files={"file": ("x.png", content)}, data={"token": doors.page_token})


def picture(side: int) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(target, "PNG")
    return target.getvalue()


def test_a_large_body_is_refused_before_it_is_read(
    client: TestClient, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "UPLOAD_BYTES", 1000)
    monkeypatch.setattr(checks, "FORM_BYTES", 1000)
    assert post(client, doors, b"x" * 3000).status_code == 413  # type: ignore[attr-defined]
    assert client.post("/label", data={"token": doors.page_token, "name": "x" * 3000}).status_code == 413
    assert client.post("/label", content=iter([b"a=b"])).status_code == 411, "a body of unknown length"


@pytest.mark.parametrize("limits", [Limits(max_pixels=100), Limits(max_bytes=50)])
def test_pixels_and_bytes_are_limited_by_the_guarded_reader(
    client: TestClient, doors: Doors, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    monkeypatch.setattr(search, "UPLOADS", limits)
    answer = post(client, doors, picture(40))
    assert answer.status_code == 404  # type: ignore[attr-defined]
    assert "max_" in answer.text  # type: ignore[attr-defined]
    assert not search.FILES.known or all(q.name != "x.png" for q in search.FILES.known.values())


def test_the_stricter_of_both_limits_holds(explored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mediarank.explorer.snapshot import Snapshot

    given: list[Limits] = []
    snapshot = Snapshot.open(explored, lambda: fitted_project.COPYING)
    monkeypatch.setattr(search, "query_vectors", lambda workspace, *_: given.append(workspace.copying().limits))
    search.described(snapshot, "x", Path("x"))
    (limits,) = given
    assert limits.max_seconds == search.UPLOADS.max_seconds < fitted_project.COPYING.limits.max_seconds
    assert limits.max_pixels == search.UPLOADS.max_pixels


def test_a_form_without_a_file_is_refused(client: TestClient, doors: Doors) -> None:
    answer = client.post("/search/file", files={"other": ("a", b"b")}, data={"token": doors.page_token})
    assert answer.status_code == 404
    assert "Choose a file" in answer.text
