"""docs/tutorial.md: its commands are run in order on a folder of drawn pictures; all pages name commands that exist."""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from whole_project import call, change_params, fresh_project, git

from mediarank import store
from mediarank.cli import app
from mediarank.collections.demo import DemoConfig, generate

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/questions").glob("*.md")])
TUTORIAL = ROOT / "docs/tutorial.md"
FEATURES = ("lab_thirds", "hog", "network")
PORTS = ("MEDIARANK_PREFECT_PORT", "MEDIARANK_MLFLOW_PORT", "MEDIARANK_EXPLORER_PORT")


def commands(page: Path) -> list[str]:
    """The lines of the page's shell blocks, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
    lines = (
        re.split("  +#| > ", line)[0].strip() for block in blocks for line in block.replace("\\\n", "").splitlines()
    )
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_can_be_parsed_and_links_lead_somewhere(page: Path) -> None:
    for line in commands(page):
        if line.startswith("bin/mediarank"):
            command: Any = typer.main.get_command(app)
            words, above = shlex.split(line, comments=True)[1:], None
            while hasattr(command, "commands") and words:
                above = command.make_context("mediarank", words, parent=above)
                _, command, words = command.resolve_command(above, [*above._protected_args, *above.args])
            if not hasattr(command, "commands"):
                command.make_context(str(command.name), words, parent=above)
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), link


def test_every_command_in_a_sentence_exists() -> None:
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {str(group.name) for group in app.registered_groups}
    for page in PAGES:
        named = set(re.findall(r"bin/mediarank ([a-z][a-z_-]+)", page.read_text()))
        assert named <= known, page.name


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tutorial_from_its_first_command_to_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, photos = tmp_path / "drawn", tmp_path / "photos"
    generate(DemoConfig(images=96, clips=5, damaged=False, seed=5), drawn)
    photos.mkdir()
    for k, path in enumerate(sorted((drawn / "images").glob("*.jpg"))):
        path.rename(photos / f"IMG_{k:04d}.jpg")  # names that say nothing
    project = fresh_project(tmp_path / "project")
    whole = yaml.safe_load((ROOT / "params.yaml").read_text())
    change_params(project, "features", None, {name: whole["features"][name] for name in FEATURES})
    change_params(project, "base_models", None, {})
    retrieval = whole["systems"]["retrieval"] | {
        "features": list(FEATURES),
        "class_scores": [],
        "unlabelled": ["network"],
    }
    change_params(project, "systems", None, {"retrieval": retrieval})
    git(project, "commit", "--all", "--quiet", "--message", "fewer features")
    for name in PORTS:
        monkeypatch.setenv(name, free_port())
    for name, value in (("NAME", "ada"), ("EMAIL", "ada@localhost")):
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_{name}", value)
    monkeypatch.setenv("MEDIARANK_AUTHOR", "ada")
    printed: dict[str, list[str]] = {}
    try:
        for line in commands(TUTORIAL):
            words = [_meant(word, project, photos) for word in shlex.split(line)]
            if words[0] == "bin/mediarank":
                words = [sys.executable, "-m", "mediarank", *words[1:]]
            printed.setdefault(" ".join(shlex.split(line)[:2]), []).append(call(project, *words, jobs=2))
    finally:
        call(project, sys.executable, "-m", "mediarank", "down")
    assert "96 images" in printed["bin/mediarank init"][0]
    assert "By " in printed["bin/mediarank search"][0]
    assert "TRIAL of the concept boat: 3 yes, 2 no" in printed["bin/mediarank learn"][0]
    assert "Learned" in printed["bin/mediarank versions"][0]
    assert f"http://127.0.0.1:{os.environ['MEDIARANK_EXPLORER_PORT']}" in printed["bin/mediarank up"][0]
    assert "Ended: " in printed["bin/mediarank down"][0]
    page = (project / "data/report/report.html").read_text()
    assert "boat +3" in page, "the report says what is new"


def _meant(word: str, project: Path, photos: Path) -> str:
    if word == "~/Pictures":
        return str(photos)
    names = ("PICTURE", "OTHER", "THIRD", "FOURTH", "FIFTH")
    if word in names:
        items = sorted(store.read_manifest(project / "data/manifest/manifest.parquet").usable["item_id"])
        return str(items[names.index(word)])
    return word
