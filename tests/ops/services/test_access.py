"""Passwords do not reach messages, and names from data are not markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mediarank.cli.app import console
from mediarank.ops.runs.tracking import TrackedRun
from mediarank.ops.services.access import redacted

SOURCE = Path(__file__).parents[3] / "src/mediarank"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host:5432/mlflow", "postgresql://me:***@host:5432/mlflow"),
        ("http://me:p@ss:w0rd@host/x and s3://a:b@c", "http://me:***@host/x and s3://a:***@c"),
        ("postgresql+psycopg2://:only@host", "postgresql+psycopg2://:***@host"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("sqlite:////a/b:c@d/mlflow.db", "sqlite:////a/b:c@d/mlflow.db"),
    ],
)
def test_addresses_are_shown_without_their_passwords(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_a_recorded_run_does_not_print_a_password() -> None:
    assert "secret" not in TrackedRun("run", "key", "postgresql://me:secret@host/db", True, {}).summary()


def test_brackets_and_colons_in_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table("item", title="[bold]title[/bold]")
    table.add_row("images/[red]a[/red]:smile:.jpg")
    table.add_row("images/[/] b.jpg")
    console().print(table)
    printed = capsys.readouterr().out
    assert "images/[red]a[/red]:smile:.jpg" in printed
    assert "images/[/] b.jpg" in printed
    assert "[bold]title[/bold]" in printed


def test_commands_print_through_that_console_only() -> None:
    made = [p.name for p in (SOURCE / "cli").glob("*.py") if re.search(r"\bConsole\(", p.read_text())]
    assert made == ["app.py"]
