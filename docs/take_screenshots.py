"""Take the pictures of docs/explorer.md: every page of the explorer in light and dark, from a finished run of the demo.

Run it in a project after `make run`. It starts an explorer on a free port, looks at it with the Chromium that is
installed (or that MEDIARANK_CHROMIUM names), and writes small PNG files. It writes nothing to the project's labels.

    .venv/bin/python docs/take_screenshots.py [--to docs/explorer]
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CLIP, IMAGE = "clips/clip_000.mp4", "images/coast_000.jpg"
COLOURS = 96
"""Of the palette: a picture of a page stays under 250 kB."""


def pages(hit: str, other: str) -> dict[str, str]:
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


def main() -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path("docs/explorer"))
    to = parser.parse_args().to
    to.mkdir(parents=True, exist_ok=True)
    found = os.environ.get("MEDIARANK_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        sys.exit("No Chromium is installed; .ci/install_chromium.sh installs one, or MEDIARANK_CHROMIUM names it.")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    explorer = subprocess.Popen([sys.executable, "-m", "mediarank", "explore", "--port", str(port)])
    base = f"http://127.0.0.1:{port}"
    try:
        wait(base, explorer)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(f"{base}/search?item={quote(IMAGE, safe='')}", timeout=120_000)
            names = [one.get_attribute("title").partition(": ")[0] for one in page.locator(".hit > a").all()]
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
                shown = context.new_page()
                for name, address in pages(names[7], names[0]).items():
                    shown.goto(base + address, timeout=120_000, wait_until="networkidle")
                    shown.wait_for_timeout(700)  # a clip shows its first frame a little later
                    picture = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
                    path = to / f"{name}-{scheme}.png"
                    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
                    print(f"{path}  {path.stat().st_size // 1000} kB")
            browser.close()
    finally:
        explorer.terminate()
        explorer.wait(30)


def wait(base: str, explorer: subprocess.Popen[bytes], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and explorer.poll() is None:
        try:
            urllib.request.urlopen(f"{base}/static/icon.svg", timeout=5).close()  # noqa: S310 - loopback
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("The explorer did not start; run `mediarank explore` to see why.")


if __name__ == "__main__":
    main()
