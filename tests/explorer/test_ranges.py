"""Files in shards are sent like plain files: whole, or the range that a browser asks for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.testclient import TestClient

from mediarank.explorer.ranges import send
from mediarank.media.files import File, Held
from mediarank.media.shards import Media, ShardWriter

CONTENT = bytes(range(256)) * 3000


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "plain.mp4").write_bytes(CONTENT)
    with ShardWriter(tmp_path / "shards") as shards:
        for name in ("a.mp4", "b.mp4"):
            shards.add(name, Held(name, CONTENT), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    files: dict[str, File] = {
        "plain": tmp_path / "plain.mp4",
        "slice": Media(tmp_path / "shards")["b.mp4"],
        "held": Held("b.mp4", CONTENT),
    }
    app = FastAPI()

    @app.get("/{name}")
    def sent(request: Request, name: str) -> Response:
        return send(request, files[name], "video/mp4", {"Cache-Control": "private"})

    return TestClient(app)


@pytest.mark.parametrize("asked", [None, "bytes=0-", "bytes=10-19", "bytes=767990-", "bytes=-7", "bytes=5-99999999"])
@pytest.mark.parametrize("name", ["slice", "held"])
def test_the_same_answer_as_for_a_plain_file(client: TestClient, name: str, asked: str | None) -> None:
    headers = {} if asked is None else {"Range": asked}
    plain, found = (client.get(f"/{each}", headers=headers) for each in ("plain", name))
    assert (found.status_code, found.content) == (plain.status_code, plain.content)
    for header in ("content-type", "content-length", "content-range", "accept-ranges", "cache-control"):
        assert found.headers.get(header) == plain.headers.get(header), header


def test_a_range_beyond_the_end_is_refused(client: TestClient) -> None:
    answer = client.get("/slice", headers={"Range": "bytes=99999999-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(CONTENT)}")


def test_what_is_no_range_gets_everything(client: TestClient) -> None:
    assert client.get("/slice", headers={"Range": "bytes=1-2,4-5"}).status_code == 200
    assert client.get("/slice", headers={"Range": "lines=1-2"}).content == CONTENT
