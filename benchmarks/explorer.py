"""How quickly the explorer answers: its pages on a generated collection of 10,000 items, and 20 users at once.

Vectors are drawn as in `asking.py`, working copies are tiny, and the stages' own functions fit the models. The explorer
runs as its own process, as `mediarank explore` starts it, and is asked over loopback. Times are medians of the time
until the whole answer is there, when it is warm; thumbnails are not among them. `load` is that of the machine at the
end, and `start_cpu_s` the seconds of one core until the first page: times on a busy machine say little without them.

    python benchmarks/explorer.py
    python benchmarks/explorer.py --items 2000
    python benchmarks/explorer.py --items 100000 --tables-only    # no models: the grid, its filters, scrolling
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
SCROLLED = """async () => {
  const next = () => new Promise((done) => requestAnimationFrame(done));
  const height = document.documentElement.scrollHeight, frames = [];
  let tiles = 0, nodes = 0, last = performance.now();
  for (let step = 0; step <= 60; step++) {
    window.scrollTo(0, height * step / 60);
    for (let k = 0; k < 5; k++) {
      await next();
      frames.push(performance.now() - last);
      last = performance.now();
    }
    tiles = Math.max(tiles, document.querySelectorAll(".tile").length);
    nodes = Math.max(nodes, document.querySelectorAll("*").length);
  }
  frames.sort((a, b) => a - b);
  const at = (share) => frames[Math.floor(frames.length * share)];
  const moved = document.documentElement.scrollHeight - height;
  return { tiles, nodes, frame_ms: at(0.5), slow_frame_ms: at(0.95), moved };
}"""


def make(root: Path, items: int, concepts: int, models: bool = True) -> None:
    """A project after a whole run. models : without them only looking, filtering and sorting can be asked for"""
    data = root / "data"
    asking.make(data, items, concepts)
    ids = [f"i{k:06d}" for k in range(items)]
    rng = np.random.default_rng(7)
    _, coded = cv2.imencode(".jpg", rng.integers(0, 255, (48, 64, 3), dtype=np.uint8))
    paths = ids if models else ["one.jpg"] * items
    content = coded.tobytes()
    for folder in ("raw/media", "frames/media"):  # one picture for all
        with ShardWriter(data / folder) as shards:
            for path in dict.fromkeys(paths):
                shards.add(path, Held(path, content), len(content), hashlib.sha256(content).hexdigest())
    sha = [hashlib.sha256(item.encode()).hexdigest() for item in ids]
    taken = [f"{2015 + k % 10}-{1 + k % 12:02d}-{1 + k % 28:02d}T10:00:00" for k in range(items)]
    table = pd.DataFrame({"item_id": ids, "path": paths, "kind": "image", "width": 64, "height": 48, "seconds": 0.0})
    table = table.assign(fps=0.0, has_sound=False, sha256=sha, group_id=ids, status="ok", reason="", taken_at=taken)
    store.write_manifest(data / "manifest/manifest.parquet", Manifest(table))
    frames = pd.DataFrame({"frame_id": [f"{i}#000" for i in ids], "item_id": ids, "kind": "image", "index": 0})
    frames = frames.assign(
        seconds=0.0, path=paths, width=64, height=48, sha256=sha, phash=[f"{k:016x}" for k in range(items)]
    )
    store.write_table(data / "frames/frames.parquet", frames)
    if models:
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


@contextmanager
def started(root: Path) -> Iterator[tuple[int, int, str, float]]:
    """An explorer of its own: its process, its port, its first page, and the seconds until that was there."""
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
        assert status == 200
        yield process.pid, port, page, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(30)


def measure(root: Path, repeats: int) -> dict[str, Any]:
    with started(root) as (process, port, page, start):
        times = psutil.Process(process).cpu_times()
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
        memory = psutil.Process(process).memory_info().rss / 1024**2
    extra = {"after_a_label_ms": after_a_label, "start_cpu_s": times.user + times.system, "errors": errors}
    return {**found, "start_s": start, "rss_mb": memory, **extra, "load": os.getloadavg()[0]}


def measure_tables(root: Path, repeats: int) -> dict[str, Any]:
    """Looking at a collection that is too large to fit models for a benchmark: grids, filters, orders, scrolling."""
    with started(root) as (process, port, _, start):
        client = Client(port)
        found = {
            "first_page_ms": median_ms(client, ["/"] * repeats),
            "window_ms": median_ms(client, [f"/grid?start={120 * k}" for k in range(repeats)]),
            "grid_ms": median_ms(client, [f"/grid?class=class{k % 20}&text={k}&start=0" for k in range(repeats)]),
            "facets_ms": median_ms(client, [f"/?concept=concept{k:03d}&year=-2016" for k in range(repeats)]),
            "order_ms": median_ms(client, [f"/grid?order=newest&class=-class{k % 20}" for k in range(repeats)]),
            "start_s": start,
            "rss_mb": psutil.Process(process).memory_info().rss / 1024**2,
        }
        return {**found, **scrolled(port), "load": os.getloadavg()[0]}


def scrolled(port: int) -> dict[str, float]:
    """In a browser, from top to bottom in 60 steps: the most tiles and elements in the page, and times of frames.

    `frame_ms` is the median and `slow_frame_ms` the 95th of 100; `moved` says by how much the page's height changed.
    """
    browser = os.environ.get("MEDIARANK_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return {}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{port}/")
        found = page.evaluate(SCROLLED)
        page.locator(".window").last.locator(".tile").first.wait_for()
        opened.close()
    return dict(found)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--concepts", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--tables-only", action="store_true", help="without models: looking, filters and scrolling")
    parser.add_argument("--keep", type=Path, help="a folder for the project: made if it is not there, and kept")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = given.keep or Path(folder)
        if not (root / "params.yaml").exists():  # it is written last
            make(root, given.items, given.concepts, not given.tables_only)
        found = (measure_tables if given.tables_only else measure)(root, given.repeats)
    print(f"{given.items:,} items, {given.concepts} concepts; {USERS} users at once: {found.get('errors', '-')} errors")
    for name, value in found.items():
        target = f"  (target: under {TARGETS[name]:,})" if name in TARGETS else ""
        print(f"  {name:<18} {value:9.1f}{target}")
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))
    return found


if __name__ == "__main__":
    main()
