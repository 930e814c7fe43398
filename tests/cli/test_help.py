"""Help, examples, completion, JSON, exit codes and errors: the same manners for every command."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import mediarank.cli
from mediarank.cli.app import DEBUG, SLOW, STAGES, app
from mediarank.cli.examples import EXAMPLES
from mediarank.cli.json_output import print_json
from mediarank.evaluation.calibration import Cut
from mediarank.types import DataError

WITH_TABLES = (
    "annotate", "cache", "champions", "collections", "compare", "compare-runs", "describe", "drift", "duplicates",
    "feedback list", "find", "label list", "lineage", "names", "quarantine", "results", "review", "search", "versions",
)  # fmt: skip


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command for people, by its whole name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} ")
        elif command.rich_help_panel != STAGES:
            yield f"{before}{name}", command


ALL = dict(commands(typer.main.get_command(app)))


def test_every_command_has_an_example_and_every_example_a_command() -> None:
    assert set(EXAMPLES) == set(ALL)
    assert set(WITH_TABLES) | SLOW <= set(ALL)


@pytest.mark.parametrize("example", [one for several in EXAMPLES.values() for one in several])
def test_every_example_can_be_parsed(example: str) -> None:
    command: Any = typer.main.get_command(app)
    words, above = shlex.split(example), None
    while hasattr(command, "commands"):
        above = command.make_context("mediarank", words, parent=above)
        _, command, words = command.resolve_command(above, [*above._protected_args, *above.args])
    command.make_context(str(command.name), words, parent=above)


def test_help_shows_the_examples_and_the_exit_codes() -> None:
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["find", "--help"]).output
    assert all(f"mediarank {example}" in shown for example in EXAMPLES["find"])
    nested = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["label", "add", "--help"]).output
    assert f"mediarank {EXAMPLES['label add'][1]}" in nested
    general = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["--help"]).output
    assert all(part in general for part in ("--install-completion", "--debug", "Exit codes: 0 done", "3 a bug"))


@pytest.mark.parametrize("name", WITH_TABLES)
def test_what_prints_a_table_prints_json_too(name: str) -> None:
    assert any("--json" in option.opts for option in ALL[name].params)


def test_json_of_tables_dataclasses_and_what_is_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame({"name": ["bö"], "value": [np.float32(0.5)]})
    print_json({"table": table, "cut": Cut(float("nan"), 2, 1.0, 0.5), "set": {"b", "a"}, "path": Path("x")})
    assert json.loads(capsys.readouterr().out) == {
        "table": [{"name": "bö", "value": 0.5}],
        "cut": {"threshold": None, "count": 2, "precision": 1.0, "recall": 0.5},
        "set": ["a", "b"],
        "path": "x",
    }


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [(DataError("Run it again."), 1, "Run it again."), (ZeroDivisionError("by zero"), 3, "ZeroDivisionError: by zero")],
)
def test_an_error_is_a_message_and_a_traceback_only_with_debug(
    error: Exception, code: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(mediarank.cli, "app", fail)
    monkeypatch.setattr(sys, "argv", ["mediarank"])
    for debug in (False, True):
        monkeypatch.setenv(DEBUG, "1" if debug else "")
        with pytest.raises(SystemExit) as ended:
            mediarank.cli.main()
        assert ended.value.code == code
        printed = capsys.readouterr().err
        assert says in printed
        assert ("Traceback" in printed) is debug


def test_wrong_settings_are_found_by_the_first_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = (Path(__file__).parents[2] / "params.yaml").read_text()
    (tmp_path / "params.yaml").write_text(given.replace("confidence: 0.95", "confidence: 95"))
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["wire", "--check"])
    assert refused.exit_code != 0
    assert "confidence" in str(refused.exception)
    assert not (tmp_path / "data").exists()
