"""Take the pictures of the documentation, from a finished run of the demo.

Run it in a project after `make run`. It starts the services on free ports, looks at them with the Chromium that is
installed (or that MEDIARANK_CHROMIUM names), and writes small PNG files: every page of the explorer in light and dark
to docs/explorer; the report, a Prefect run, and MLflow's list and run to docs/screenshots. It writes nothing to the
project's labels. For the Prefect run it removes the report, so that there is something to do.

    .venv/bin/python docs/take_screenshots.py [explorer] [report] [services] [--to docs]
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PARTS = ("explorer", "report", "services")
PORTS = ("MEDIARANK_PREFECT_PORT", "MEDIARANK_MLFLOW_PORT", "MEDIARANK_EXPLORER_PORT")
CLIP, IMAGE = "clips/clip_000.mp4", "images/coast_000.jpg"
COLOURS = 96
"""Of the palette: a picture of a page stays under 250 kB."""
WIDTH, HEIGHT = 1280, 800


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="by default all")
    parser.add_argument("--to", type=Path, default=Path("docs"))
    given = parser.parse_args()
    found = os.environ.get("MEDIARANK_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        sys.exit("No Chromium is installed; .ci/install_chromium.sh installs one, or MEDIARANK_CHROMIUM names it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for part in given.parts or PARTS:
            {"explorer": explorer, "report": report, "services": services}[part](browser, given.to)
        browser.close()


def explorer(browser: Any, to: Path) -> None:
    """Every page of the explorer, in light and dark."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "-m", "mediarank", "explore", "--port", port])
    try:
        wait(f"{base}/static/icon.svg", process)
        page = browser.new_page()
        page.goto(f"{base}/search?item={quote(IMAGE, safe='')}", timeout=120_000)
        names = [one.get_attribute("title").partition(": ")[0] for one in page.locator(".hit > a").all()]
        for scheme in ("light", "dark"):
            shown = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme).new_page()
            for name, address in explorer_pages(names[7], names[0]).items():
                shown.goto(base + address, timeout=120_000, wait_until="networkidle")
                shown.wait_for_timeout(700)  # a clip shows its first frame a little later
                save(shown, to / "explorer" / f"{name}-{scheme}.png")
    finally:
        process.terminate()
        process.wait(30)


def explorer_pages(hit: str, other: str) -> dict[str, str]:
    """Name of a picture -> address. hit, other : two results of the search, one that is ticked and one that is not"""
    search = f"/search?item={quote(IMAGE, safe='')}"
    return {
        "collection": "/?kind=image",
        "item": f"/item?item={quote(CLIP, safe='')}",
        "find": "/find?name=boat&fresh=1",
        "search": f"{search}&yes={quote(hit, safe='')}&no={quote(other, safe='')}",
        "attributes": "/attributes?name=openness",
        "review": "/review?queue=next&name=boat",
        "versions": "/versions",
        "quarantine": "/quarantine",
    }


def report(browser: Any, to: Path) -> None:
    """The top of the report, and one concept with its curve, cut-off and worst errors."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 1500})
    page.goto(Path("data/report/report.html").resolve().as_uri())
    page.wait_for_timeout(700)
    save(page, to / "screenshots/report.png")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.locator("#concepts .names tbody a").nth(8).click()
    page.wait_for_timeout(700)
    save(page, to / "screenshots/report-concept.png")


def services(browser: Any, to: Path) -> None:
    """A run in Prefect; the list of versions and one version in MLflow."""
    with started() as (addresses, environment):
        shutil.rmtree("data/report")
        subprocess.run([sys.executable, "flows/pipeline.py"], env=environment, check=True)
        password = Path(".mediarank/prefect.auth").read_text().strip()
        access = {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}
        ended = {"sort": "END_TIME_DESC", "limit": 1, "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
        newest = ask(f"{addresses['prefect']}/api/flow_runs/filter", ended, access)
        context = browser.new_context(viewport={"width": WIDTH, "height": 1000}, extra_http_headers=access)
        page = context.new_page()
        page.add_init_script(f"localStorage.setItem('prefect-password', {json.dumps(access['Authorization'][6:])})")
        run = f"{addresses['prefect']}/runs/flow-run/{newest[0]['id']}"
        page.goto(run, wait_until="networkidle")
        page.wait_for_timeout(4000)
        save(page, to / "screenshots/prefect-run.png")
        page.get_by_text("Artifacts", exact=True).first.click()
        page.get_by_text("results", exact=True).first.click(timeout=60_000)
        page.wait_for_timeout(6000)
        save(page, to / "screenshots/prefect-results.png")
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(addresses["mlflow"], wait_until="networkidle")
        page.locator("a[href*='/runs/']").first.wait_for(timeout=120_000)
        page.wait_for_timeout(5000)
        save(page, to / "screenshots/mlflow-list.png")
        page.locator("a[href*='/runs/']").first.click()
        page.get_by_text("Show more").first.click(timeout=120_000)
        page.wait_for_timeout(2000)
        save(page, to / "screenshots/mlflow-run.png")


@contextmanager
def started() -> Iterator[tuple[Mapping[str, str], dict[str, str]]]:
    """The services on free ports: their addresses, and the environment of programs that talk to them."""
    environment = {**os.environ, **{name: free_port() for name in PORTS}}
    program = [sys.executable, "-m", "mediarank"]
    try:
        subprocess.run([*program, "up"], env=environment, check=True)
        prefect, mlflow, _ = (f"http://127.0.0.1:{environment[name]}" for name in PORTS)
        yield {"prefect": prefect, "mlflow": mlflow}, environment
    finally:
        subprocess.run([*program, "down"], env=environment, check=True)


def save(page: Any, path: Path) -> None:
    """The page as a PNG of few colours."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size // 1000} kB")


def ask(address: str, value: Any, headers: Mapping[str, str]) -> Any:
    body = json.dumps(value).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", **headers})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def wait(address: str, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - loopback
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("The explorer did not start; run `mediarank explore` to see why.")


if __name__ == "__main__":
    main()
