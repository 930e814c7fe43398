"""How quickly the explorer answers: its pages on a generated collection of 10,000 items, and 20 users at once.

Vectors are drawn as in `asking.py`, working copies are tiny, and the stages' own functions fit the models. The explorer
runs as its own process, as `mediarank explore` starts it, and is asked over loopback. Times are medians of the time
until the whole answer is there, when it is warm; thumbnails are not among them. `load` is that of the machine at the
end, and `start_cpu_s` the seconds of one core until the first page: times on a busy machine say little without them.

    python benchmarks/explorer.py
    python benchmarks/explorer.py --items 2000
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import asking
import cv2
import numpy as np
import pandas as pd
import psutil

from mediarank import store
from mediarank.media.files import Held
from mediarank.media.shards import ShardWriter
from mediarank.types import Manifest

TARGETS = {
    "first_page_ms": 300, "grid_ms": 100, "search_ms": 200, "find_ms": 200, "feedback_ms": 300, "start_s": 6,
    "rss_mb": 1000,
}  # fmt: skip
USERS = 20


def make(root: Path, items: int, concepts: int) -> None:
    """A project after a whole run."""
    data = root / "data"
    asking.make(data, items, concepts)
    ids = [f"i{k:06d}" for k in range(items)]
    rng = np.random.default_rng(7)
    _, coded = cv2.imencode(".jpg", rng.integers(0, 255, (48, 64, 3), dtype=np.uint8))
    content = coded.tobytes()
    for folder in ("raw/media", "frames/media"):  # one picture for all
        with ShardWriter(data / folder) as shards:
            for item in ids:
                shards.add(item, Held(item, content), len(content), hashlib.sha256(content).hexdigest())
    sha = [hashlib.sha256(item.encode()).hexdigest() for item in ids]
    table = pd.DataFrame({"item_id": ids, "path": ids, "kind": "image", "width": 64, "height": 48, "seconds": 0.0})
    table = table.assign(fps=0.0, has_sound=False, sha256=sha, group_id=ids, status="ok", reason="")
    store.write_manifest(data / "manifest/manifest.parquet", Manifest(table))
    frames = pd.DataFrame({"frame_id": [f"{i}#000" for i in ids], "item_id": ids, "kind": "image", "index": 0})
    frames = frames.assign(
        seconds=0.0, path=ids, width=64, height=48, sha256=sha, phash=[f"{k:016x}" for k in range(items)]
    )
    store.write_table(data / "frames/frames.parquet", frames)
    asking.fit(data)
    labels = store.read_labels(data / "manifest/labels")
    store.write_labels(data / "manifest/source_labels", labels)
    (root / "params.yaml").write_text((Path(__file__).parents[1] / "params.yaml").read_text())


class Client:
    """One user with one connection."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(self, path: str) -> tuple[int, str]:
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

    def post(self, path: str, fields: list[tuple[str, str]]) -> int:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", path, urlencode(fields), headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status


def median_ms(client: Client, addresses: list[str]) -> float:
    """Of the addresses, each asked once."""
    found = []
    for address in addresses:
        began = time.perf_counter()
        status, _ = client.get(address)
        found.append(1000 * (time.perf_counter() - began))
        assert status == 200, address
    return statistics.median(found)


def one_user(port: int, number: int) -> int:
    """What one of many users does; returns how many answers were errors."""
    client, errors = Client(port), 0
    for k in range(6):
        item = f"i{(37 * number + 11 * k) % 1000:06d}"
        for address in (
            "/", f"/grid?class=class{number}&start=120", f"/item?item={item}", f"/search?item={item}",
            f"/find?name=concept{number:03d}", f"/thumbnail?item={item}",
        ):  # fmt: skip
            errors += client.get(address)[0] != 200
    return errors


def measure(root: Path, repeats: int) -> dict[str, Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    source = str(Path(__file__).parents[1] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "MEDIARANK_AUTHOR": "benchmark"}
    command = [sys.executable, "-m", "mediarank", "explore", "--port", str(port)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                status, page = Client(port).get("/")
                break
            except OSError:
                assert process.poll() is None, "the explorer ended"
                time.sleep(0.02)
        start = time.perf_counter() - began
        assert status == 200
        times = psutil.Process(process.pid).cpu_times()
        start_cpu = times.user + times.system
        token = re.findall(r'name="page-token" content="([^"]+)"', page)[0]
        client = Client(port)
        warm = ["/", "/grid?start=120", "/search?item=i000000", "/find?name=concept001", "/item?item=i000001"]
        for address in warm:
            assert client.get(address)[0] == 200, address
        found = {
            "first_page_ms": median_ms(client, ["/"] * repeats),
            # Each of these is asked for the first time: another filter, another query, another concept.
            "grid_ms": median_ms(client, [f"/grid?class=class{k % 20}&text={k}&start=0" for k in range(repeats)]),
            "search_ms": median_ms(client, [f"/search?item=i{k:06d}" for k in range(1, repeats + 1)]),
            "find_ms": median_ms(client, [f"/find?name=concept{k:03d}" for k in range(2, repeats + 2)]),
            "feedback_ms": median_ms(
                client,
                [
                    f"/search?item=i{k:06d}&yes=i{k + 100:06d}&yes=i{k + 200:06d}&no=i{k + 300:06d}"
                    for k in range(repeats)
                ],
            ),
        }
        kept = [("token", token), ("item", "i000000"), ("yes", "i000100"), ("no", "i000300"), ("scope", "query")]
        assert client.post("/search/keep", kept) == 303
        said = [("token", token), ("item", "i000000"), ("name", "concept001"), ("answer", "yes")]
        assert client.post("/label", said) == 303
        began = time.perf_counter()
        assert client.get("/")[0] == 200
        after_a_label = 1000 * (time.perf_counter() - began)
        with ThreadPoolExecutor(USERS) as users:
            errors = sum(users.map(lambda number: one_user(port, number), range(USERS)))
        memory = psutil.Process(process.pid).memory_info().rss / 1024**2
    finally:
        process.terminate()
        process.wait(30)
    extra = {"after_a_label_ms": after_a_label, "start_cpu_s": start_cpu, "errors": errors, "load": os.getloadavg()[0]}
    return {**found, "start_s": start, "rss_mb": memory, **extra}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--concepts", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=21)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(Path(folder), given.items, given.concepts)
        found = measure(Path(folder), given.repeats)
    print(f"{given.items:,} items, {given.concepts} concepts; {USERS} users at once: {found['errors']} errors")
    for name, value in found.items():
        target = f"  (target: under {TARGETS[name]:,})" if name in TARGETS else ""
        print(f"  {name:<18} {value:9.1f}{target}")
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))
    return found


if __name__ == "__main__":
    main()
