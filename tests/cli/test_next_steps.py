"""`mediarank` without a command: the state of the folder and the three commands that matter now."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mediarank.cli import app
from mediarank.cli.examples import EXAMPLES
from mediarank.cli.next_steps import State, advice, next_steps, read_state

FOUND = {"measure": "mAP", "mean": 0.61, "names": {"boat": 0.9, "cat": 0.1}}
SUMMARY: dict[str, Any] = {"items": {"image": 6, "clip": 2}, "systems": {"concepts": FOUND}}
DONE = State(summary=SUMMARY)


def commands(state: State) -> list[str]:
    return [command for command, _ in advice(state)[1]]


@pytest.mark.parametrize(
    ("state", "first", "says"),
    [
        (State(params=False), "cd FOLDER", "no params.yaml"),
        (State(), "make run", "Nothing has run here yet"),
        (State(failed="check_manifest"), "mediarank quarantine", "stopped at the check check_manifest"),
        (replace(DONE, committed=False), "git add --all", "not kept yet"),
        (replace(DONE, corrections=True), "mediarank run", "corrections"),
        (DONE, "make up", "8 items; concepts mAP 0.61."),
        (replace(DONE, served="http://127.0.0.1:8765/report"), "mediarank find boat", "8 items"),
        (State(summary={"items": {"image": 3}, "systems": {}}), "make up", "nothing could be measured yet"),
    ],
)
def test_three_commands_for_each_state(state: State, first: str, says: str) -> None:
    sentence, steps = advice(state)
    assert says in sentence
    assert len(steps) == 3
    assert steps[0][0].startswith(first)


def test_the_weakest_name_is_labelled_next() -> None:
    assert "mediarank review cat" in commands(DONE)


def test_every_command_that_is_advised_exists() -> None:
    states = [DONE, State(), State(failed="check_manifest"), replace(DONE, corrections=True), replace(DONE, demo=False)]
    for command in {command for state in states for command in commands(state) if command.startswith("mediarank ")}:
        words = command.removeprefix("mediarank ").split()
        assert any(name in EXAMPLES for name in (words[0], " ".join(words[:2]))) or words[0].startswith("check_")


def test_the_state_is_read_from_the_folder(tmp_path: Path) -> None:
    assert not read_state(tmp_path).params
    (tmp_path / "params.yaml").write_text("collection:\n  source: folder\n")
    assert read_state(tmp_path) == State(demo=False)
    for name, value in (
        ("data/report/summary.json", SUMMARY),
        ("data/check_manifest/result.json", {"success": False}),
        ("data/manifest/statements.csv", {}),
        ("labels/journal/ada.jsonl", {}),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value))
    os.utime(tmp_path / "data/manifest/statements.csv", (1, 1))
    state = read_state(tmp_path)
    assert (state.summary, state.failed, state.corrections) == (SUMMARY, "check_manifest", True)


def test_the_command_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(app, [])
    assert printed.exit_code == 0
    assert printed.output.strip() == next_steps(tmp_path).strip()
