"""Paths, targets, commands and links in the README exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)


def test_every_path_in_the_tree_exists() -> None:
    tree = next(text for _, text in BLOCKS if text.startswith("params.yaml dvc.yaml"))
    found = 0
    parent = ROOT
    for line in tree.splitlines():
        names = re.split(r"\s{2,}", line.strip())[0].split()
        base = parent if line.startswith("  ") else ROOT
        for name in names:
            assert (base / name).exists(), name
            found += 1
        if not line.startswith("  "):
            parent = ROOT / names[0]
    assert found > 20


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z]+)`?(?:\s{2,}#|`)", README))
    assert {"run", "test", "up", "down"} <= named <= targets


def test_every_mediarank_command_exists() -> None:
    from mediarank.cli import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {str(group.name) for group in app.registered_groups}
    named = set(re.findall(r"bin/mediarank ([a-z_-]+)", README))
    assert named
    assert named <= known


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        assert link.startswith("http") or (ROOT / link).exists(), link


def test_the_test_command_is_what_ci_runs() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make ")]
    assert commands == ["make check", "make test", 'make drills DRILLS="slow and central"']
