"""Hostile requests to a served model: what bodies are sent, and what the server makes of them.

`hostile_bodies` makes the same bodies for the same seed: random bytes, damaged and deep JSON, huge numbers, wrong
types, long base64, pictures that are small as files and huge in memory, too many rows. `Served` is `model_app` on
loopback, with a watch on the memory of its process and its children.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from faults_doors import let_in
from faults_killed import make
from faults_kills import in_child
from PIL import Image

from mediarank.ops.models.model_server import command
from mediarank.ops.models.packing import digest, pack

MEBIBYTE = 1024**2
JSON = {"Content-Type": "application/json"}


def coded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def bomb(side: int) -> bytes:
    """A black PNG of side × side pixels: 388 kB for 11,585, of which decoders would make more than a gigabyte."""
    made = io.BytesIO()
    Image.fromarray(np.zeros((side, side), np.uint8)).convert("RGB").save(made, "png")
    return made.getvalue()


def one(**row: Any) -> bytes:
    return json.dumps({"dataframe_records": [row]}).encode()


def fixed(features: Sequence[str], dimensions: Sequence[int], item: str) -> list[bytes]:
    """Bodies that are worth sending once each, whatever the seed."""
    vectors = {name: [0.1] * size for name, size in zip(features, dimensions, strict=True)}
    first = features[0]
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    wrong: list[Any] = [
        deep, [], {}, "text", 7, True, [None] * dimensions[0], ["a"] * dimensions[0], [True] * dimensions[0],
        [10**400] * dimensions[0], [1e308] * dimensions[0], [[0.1], [0.1, 0.2]], [[[0.1]]], [0.1] * 99_999,
        [vectors[first]] * 3, [{}] * dimensions[0],
    ]  # fmt: skip
    huge = bomb(11_585)
    bodies = [
        b"", b"null", b"[]", b"{}", b"\xff\xfe{}", b"{" * 5_000, b"[" * 200_000, b'{"a":' * 100_000, b"9" * 100_000,
        b'{"dataframe_records": [{"item": NaN}]}', b'{"dataframe_records": [{"item": "\\ud800"}]}',
        b'{"inputs": {"item": "x"}}', b'{"inputs": {"item": ["x"], "image": []}}', b'{"instances": [1]}',
        b'{"dataframe_split": {"columns": ["item"], "data": [["x", "y"]]}}', b'{"dataframe_split": []}',
        b'{"dataframe_split": {"columns": [["item"]], "data": [[1]]}}', b'{"dataframe_records": "item"}',
        b'{"dataframe_records": [{"%s": [%s]}]}' % (first.encode(), b"1e999," * 50 + b"1"),
        b'{"dataframe_records": [{"%s": [%s]}]}' % (first.encode(), b"9" * 10_000),
        b'{"dataframe_records": [' + b"{}," * 400_000 + b"{}]}",
        b"[" + b"[]," * (8 * MEBIBYTE) + b"[]]",
        json.dumps({"dataframe_records": [{"item": item}] * 1000}).encode(),
        json.dumps({"dataframe_records": [{"item": item}], "params": {"count": 10**30}}).encode(),
        json.dumps({"dataframe_records": [{"item": item}], "params": {"count": -1}}).encode(),
        json.dumps({"dataframe_records": [{"item": item}], "params": {"count": "all"}}).encode(),
        json.dumps({"dataframe_records": [{"item": item}], "params": [1]}).encode(),
        one(item=["a"]), one(item="../../etc/passwd"), one(item="x" * MEBIBYTE), one(item=item, image="AAAA"),
        one(nosuch=1), one(image=""), one(image="%%%"), one(image=7), one(clip=coded(b"GIF89a")), one(sound="AAAA"),
        one(image=coded(huge)), one(clip=coded(huge)), one(image="A" * (30 * MEBIBYTE)),
        one(sound="A" * (24 * MEBIBYTE)),
        one(image=coded(b"#EXTM3U\nfile:///etc/passwd\n")), one(image=coded(b"<svg xmlns='x'/>")),
        json.dumps({"dataframe_records": [{"image": coded(bomb(6000))}] * 60}).encode(),
        *(one(**{**vectors, first: value}) for value in wrong),
    ]  # fmt: skip
    return bodies


def hostile_bodies(
    count: int, features: Sequence[str], dimensions: Sequence[int], item: str, picture: bytes, seed: int = 3
) -> list[bytes]:
    """`count` bodies: the fixed ones first, then random bytes, damaged requests and damaged pictures in turn."""
    rng = np.random.default_rng(seed)
    bodies = fixed(features, dimensions, item)
    good = one(**{name: [0.25] * size for name, size in zip(features, dimensions, strict=True)})
    while len(bodies) < count:
        damaged = bytearray(good if len(bodies) % 3 else picture)
        for place in rng.integers(0, len(damaged), 1 + int(rng.integers(0, 20))):
            damaged[place] = rng.integers(0, 256)
        kinds = [
            rng.bytes(int(rng.integers(1, 50_000))),
            bytes(damaged),
            bytes(damaged[: rng.integers(1, len(damaged))]),
        ]
        body = kinds[int(rng.integers(0, 3))]
        bodies.append(body if len(bodies) % 3 else one(image=coded(body)))
    return [bodies[k] for k in rng.permutation(len(bodies))[:count]]


@dataclass
class Served:
    """A running server. peak_bytes : the most memory that it and its children had at once"""

    port: int
    process: subprocess.Popen[bytes]
    peak_bytes: int = 0
    _done: threading.Event = field(default_factory=threading.Event)

    def ask(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Status and content of an answer; status 0 if the server closed the connection before it had all."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/invocations", body, JSON if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (BrokenPipeError, ConnectionResetError):
            return 0, b""
        finally:
            connection.close()

    def ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5):
                return True
        except OSError:
            return False

    def watch(self) -> None:
        while not self._done.wait(0.05):
            self.peak_bytes = max(self.peak_bytes, memory_of(self.process.pid))


@contextmanager
def served(packed: Path, log: Path) -> Iterator[Served]:
    """The server of a packed model; ended afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as file:
        process = subprocess.Popen(command(packed, digest(packed), port), stdout=file, stderr=file)
    server = Served(port, process)
    watcher = threading.Thread(target=server.watch, daemon=True)
    try:
        deadline = time.monotonic() + 240
        while not server.ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server does not answer:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        watcher.start()
        yield server
    finally:
        server._done.set()
        process.terminate()
        process.wait(60)


def memory_of(process: int) -> int:
    """Bytes of a process and all below it, each page counted once where the kernel says so (PSS)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    total, todo = 0, [process]
    while todo:
        number = todo.pop()
        todo += parents.get(number, [])
        try:
            rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
    return total


@dataclass(frozen=True)
class Endured:
    """What came of hostile bodies.

    wrong : answers that are neither a result nor a refusal in a sentence
    seconds : of each answer
    same : whether the server answers as before afterwards
    """

    wrong: list[str]
    seconds: list[float]
    deaths: int
    peak_bytes: int
    same: bool


def endure(server: Served, bodies: Sequence[bytes], good: bytes) -> Endured:
    """Send bodies one after the other; a good one before and after."""
    before = server.ask(good)
    if before[0] != 200:
        raise RuntimeError(f"The good request was refused: {before}")
    wrong, seconds = [], []
    for body in bodies:
        began = time.monotonic()
        status, content = server.ask(body)
        seconds.append(time.monotonic() - began)
        if not _fine(status, content):
            wrong.append(f"{body[:80]!r}: {status} {content[:200]!r}")
        if server.process.poll() is not None:
            break
    deaths = int(server.process.poll() is not None)
    return Endured(wrong, seconds, deaths, server.peak_bytes, not deaths and server.ask(good) == before)


def _fine(status: int, content: bytes) -> bool:
    if status == 0:  # the body was too large, and the server hung up before the end of it
        return True
    if b"Traceback" in content or b'File \\"' in content or status == 500:
        return False
    answer = json.loads(content)
    return "predictions" in answer if status == 200 else 400 <= status <= 503 and len(answer["message"]) > 10


def bodies(folder: Path, count: int) -> dict[str, Any]:
    """Send hostile requests to a served model: it lives, within its memory and time, and answers as before."""
    from mediarank.asking.describe import Copying
    from mediarank.media.frames import FramesConfig
    from mediarank.media.limits import Limits

    in_child(lambda: make(folder / "project"))
    packed = pack(folder / "project/data", "retrieval", Copying(FramesConfig(), Limits()), folder / "packed")
    item = packed.model.names[0]
    picture = (folder / "project/data/raw/media" / item).read_bytes()
    dimensions = [len(matrix.names) for matrix in packed.collection.values()]
    sent = hostile_bodies(count, list(packed.collection), dimensions, item, picture)
    with served(folder / "packed", folder / "served.log") as server:
        found = endure(server, sent, one(item=item))
        led_in = let_in(server.port, {}, "/invocations", one(item=item).decode(), "/ping")
    for line in found.wrong[:5]:
        print(f"  {line}")
    return {
        "hostile_bodies": len(found.seconds),
        "server_deaths": found.deaths,
        "cross_origin_changes": led_in,
        "bodies_answered_wrongly": len(found.wrong) + (not found.same),
        "server_peak_mb": round(found.peak_bytes / 1e6),
        "bodies_p99_s": round(float(np.quantile(found.seconds, 0.99)), 2),
    }
