"""A served model: what it answers, what it refuses, and that hostile requests neither end it nor fill the memory."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fitted_project
import httpx
import numpy as np
import pytest
from faults_bodies import MEBIBYTE, bomb, endure, hostile_bodies, one, served
from faults_doors import let_in

from mediarank.ops.models import model_app
from mediarank.ops.models.answering import TooSlow, answer
from mediarank.ops.models.model_app import ModelServer, opened
from mediarank.ops.models.packing import ChangedModel, Packed, digest, pack, unpack
from mediarank.ops.models.request_body import read_body
from mediarank.ops.models.serving_limits import ServingLimits
from mediarank.types import DataError, MachineFault

ITEM = "images/sea_002.png"
LIMITS = ServingLimits()
SMALL = replace(LIMITS, max_body_bytes=4000, max_rows=3, max_values=500, max_answers=100, body_seconds=0.3)


@pytest.fixture(scope="module")
def folder(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("served") / "packed"
    pack(fitted / "data", "retrieval", fitted_project.COPYING, target)
    return target


@pytest.fixture(scope="module")
def packed(folder: Path) -> Packed:
    return opened(folder, digest(folder), LIMITS)


def ask(
    packed: Packed,
    content: Any,
    limits: ServingLimits = LIMITS,
    then: Callable[[], object] = lambda: None,
    **more: Any,
) -> httpx.Response:
    """One request to the application, without a port. then : called when it is answered"""

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app=ModelServer(packed, limits).app(5001))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:5001") as client:
            body = content if isinstance(content, bytes) or hasattr(content, "__aiter__") else json.dumps(content)
            headers = {"Content-Type": "application/json", **more}
            try:
                return await client.post("/invocations", content=body, headers=headers)
            finally:
                then()

    return asyncio.run(call())


def names(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [row["name"] for row in response.json()["predictions"]]


def test_each_form_of_a_request_has_the_same_answer(packed: Packed) -> None:
    forms: list[dict[str, Any]] = [
        {"dataframe_records": [{"item": ITEM}]},
        {"dataframe_split": {"columns": ["item"], "data": [[ITEM]], "index": [7]}},
        {"inputs": {"item": [ITEM]}},
        {"inputs": [{"item": ITEM, "image": None}]},
    ]
    answers = [ask(packed, {**form, "params": {"count": 5}}).json() for form in forms]
    assert all(found == answers[0] for found in answers)
    assert [(row["query"], row["rank"]) for row in answers[0]["predictions"]] == [(ITEM, k) for k in range(1, 6)]


def test_an_item_is_not_among_its_own_answers_and_a_file_is(packed: Packed, fitted: Path) -> None:
    count = len(packed.model.names)
    by_item = names(ask(packed, {"inputs": {"item": [ITEM]}, "params": {"count": count}}))
    assert sorted([*by_item, ITEM]) == sorted(packed.model.names)
    content = base64.b64encode((fitted / "data/raw/media" / ITEM).read_bytes()).decode()
    by_file = names(ask(packed, {"inputs": {"image": [content]}, "params": {"count": count}}))
    assert by_file == [ITEM, *by_item]
    vectors = {name: [matrix.rows([ITEM])[0].tolist()] for name, matrix in packed.collection.items()}
    assert names(ask(packed, {"inputs": vectors, "params": {"count": count}})) == by_file


def test_rows_of_several_kinds_keep_their_order(packed: Packed) -> None:
    vectors = {name: matrix.values[0].tolist() for name, matrix in packed.collection.items()}
    items = [{"item": name} for name in packed.model.names[:20]]
    rows: list[dict[str, Any]] = [*items, vectors, {"item": ITEM}]
    found = answer(packed, rows, 2, LIMITS)
    asked = [name for row in items for name in (row["item"],) * 2]
    assert found["query"].tolist() == [*asked, "20", "20", ITEM, ITEM]
    alone = answer(packed, [items[17]], 2, LIMITS)
    assert found[found["query"] == items[17]["item"]]["score"].tolist() == alone["score"].tolist()


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"x" * 5000, 413, "larger than 4,000"),
        (b"[" * 600, 400, "600 values"),
        (b"{" * 300, 400, "not JSON"),
        (b'{"inputs": {"item": [NaN]}}', 400, "NaN"),
        (b'{"inputs": {"lab": [[1e999]], "hue": [[1]]}}', 400, "too large"),
        (b'{"inputs": {"lab": [["1"]], "hue": [[1]]}}', 400, "list of numbers"),
        (b'{"inputs": {"lab": [[[1], [1, 2]]], "hue": [[1]]}}', 400, "list of numbers"),
        (b'{"inputs": {"lab": [true], "hue": [[1]]}}', 400, "list of numbers"),
        (b'{"inputs": {"lab": [[1]]}}', 400, "numbers for each of lab, hue"),
        (one(item=ITEM, image="AAAA"), 400, "exactly one"),
        (one(item=7), 400, "must be text"),
        (one(item="nosuch.png"), 400, "not in the collection"),
        (one(colour=7), 400, "unknown column 'colour'"),
        (one(image="%%%"), 400, "base64"),
        (b'{"dataframe_records": [{}, {}, {}, {}]}', 400, "4 rows; 3 are allowed"),
        (b'{"inputs": {"item": ["a", "b", "c"]}, "params": {"count": 60}}', 400, "more than 100 answers"),
        (b'{"inputs": {"item": ["a"]}, "params": {"count": true}}', 400, "whole number"),
        (b'{"instances": [1]}', 400, "exactly one of"),
    ],
)
def test_what_is_refused_is_refused_in_a_sentence(packed: Packed, body: bytes, status: int, words: str) -> None:
    refused = ask(packed, body, SMALL)
    assert refused.status_code == status
    assert words in refused.json()["message"]


def test_a_body_without_a_declared_length_is_cut_off(packed: Packed) -> None:
    sent = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            sent.append(1)
            yield b"x" * 1000

    assert ask(packed, endless(), SMALL).status_code == 413
    assert len(sent) <= 6


def test_a_body_that_does_not_come_is_not_waited_for(packed: Packed) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(600)

    assert ask(packed, slow(), SMALL).status_code == 408


def test_a_request_that_takes_too_long_is_given_up(packed: Packed, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def stuck(*_: Any) -> None:
        go_on.wait(200)

    monkeypatch.setattr(model_app, "answer", stuck)
    refused = ask(packed, {"inputs": {"item": [ITEM]}}, replace(LIMITS, request_seconds=0.3), then=go_on.set)
    assert refused.status_code == 503
    with pytest.raises(TooSlow, match="fewer rows"):
        answer(packed, [{"item": ITEM}], 1, LIMITS, until=time.monotonic() - 1)


@pytest.mark.parametrize(
    ("error", "status"), [(ZeroDivisionError("secret"), 500), (MachineFault("The disk is full: free some."), 503)]
)
def test_no_traceback_is_answered(
    packed: Packed, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(model_app, "answer", fail)
    refused = ask(packed, {"inputs": {"item": [ITEM]}})
    assert refused.status_code == status
    assert "secret" not in refused.text
    assert "Traceback" not in refused.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:80"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Origin": "http://127.0.0.1:5001"}, 200),
        ({"Host": "localhost:5001"}, 200),
    ],
)
def test_other_pages_are_refused(packed: Packed, headers: dict[str, str], status: int) -> None:
    answered = ask(packed, {"inputs": {"item": [ITEM]}}, **headers)
    assert answered.status_code == status
    assert "access-control-allow-origin" not in answered.headers


def test_a_file_keeps_to_the_limits_of_serving(packed: Packed) -> None:
    tight = replace(LIMITS, max_file_bytes=100)
    with pytest.raises(DataError, match="larger than the 100 bytes"):
        answer(packed, [{"clip": "A" * 140}], 1, tight)
    limits = packed.workspace.copying().limits
    assert (limits.max_pixels, limits.timeout_seconds) == (LIMITS.max_pixels, LIMITS.file_seconds)
    image = base64.b64encode(bomb(7000)).decode()
    with pytest.raises(DataError, match=r"^The image can't be used: .*7000 × 7000 pixels"):
        answer(packed, [{"image": image}], 1, LIMITS)


def test_frames_are_a_list_of_lists(packed: Packed) -> None:
    item = {name: matrix.rows([ITEM]) for name, matrix in packed.collection.items()}
    arrays = {name: np.array([row.astype(np.float64) for row in rows], object) for name, rows in item.items()}
    # Types that pool their frames have no row for a single frame, so this is refused, and in a sentence.
    for vectors in ({name: rows.tolist() for name, rows in item.items()}, arrays):
        with pytest.raises(DataError, match="needs numbers for lab, hue"):
            packed.rank_vectors(vectors)


def test_changed_files_are_not_opened(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "packed"
    shutil.copytree(folder, copy)
    wanted = digest(folder)
    assert digest(copy) == wanted
    (copy / "features/lab/more.npy").write_bytes(b"")
    with pytest.raises(ChangedModel, match="damaged or was changed"):
        opened(copy, wanted, LIMITS)
    (copy / "features/lab/more.npy").unlink()
    facts = copy / "about.json"
    facts.write_bytes(facts.read_bytes().replace(b"retrieval", b"Retrieval"))
    with pytest.raises(ChangedModel):
        opened(copy, wanted, LIMITS)
    with pytest.raises(ChangedModel):
        opened(tmp_path / "nowhere", wanted, LIMITS)


def test_values_are_counted_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("mediarank.ops.models.request_body.json.loads", refuse)
    with pytest.raises(DataError, match="2,000,001 values"):
        read_body(b"[" + b"[]," * 1_000_000, 5, LIMITS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "served.log"


def test_forty_hostile_bodies_leave_the_server_as_it_was(folder: Path, fitted: Path, log: Path) -> None:
    """`benchmarks/faults.py --parts bodies` sends five hundred."""
    packed = unpack(folder)
    dimensions = [len(matrix.names) for matrix in packed.collection.values()]
    picture = (fitted / "data/raw/media" / ITEM).read_bytes()
    bodies = hostile_bodies(40, list(packed.collection), dimensions, ITEM, picture)
    good = one(item=ITEM)
    with served(folder, log) as server:
        found = endure(server, bodies, good)
        assert let_in(server.port, {}, "/invocations", good.decode(), "/ping") == 0, "from other pages"
    assert found.wrong == []
    assert len(found.seconds) == 40
    assert (found.deaths, found.same) == (0, True)
    assert found.peak_bytes < 1024 * MEBIBYTE
    assert "Traceback" not in log.read_text()
