"""What a run prints, from real Prefect states."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import console
import pytest
from prefect import flow
from prefect.states import Completed, Failed, State
from rich.console import Console

import mediarank


def ending(state: State[Any]) -> Any:
    @flow(name="ending")
    def ends() -> State[Any]:
        return state

    return ends


@pytest.mark.usefixtures("prefect_server")
def test_table_and_exit_code_of_a_good_run(capsys: pytest.CaptureFixture[str]) -> None:
    state = Completed(
        message="2 up to date, 1 of them unchanged.", data={"collect": "Cached", "features@hog": "Completed"}
    )
    assert console.run_once(ending(state)) == 0
    printed = capsys.readouterr()
    assert [line.split() for line in printed.out.splitlines()] == [["collect", "Cached"], ["features@hog", "Completed"]]
    assert printed.err == "2 up to date, 1 of them unchanged.\n"


@pytest.mark.usefixtures("prefect_server")
def test_a_failed_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    state = Failed(message="1 of 1 failed: collect.\n3 rows [have] no label", data={"collect": "Failed"})
    assert console.run_once(ending(state)) == 1
    printed = capsys.readouterr()
    assert printed.out.split() == ["collect", "Failed"]
    assert "3 rows [have] no label" in printed.err


@pytest.mark.usefixtures("prefect_server")
def test_an_exception_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    @flow(name="breaking")
    def breaks() -> None:
        raise ValueError("no dvc.yaml here")

    assert console.run_once(breaks) == 1
    printed = capsys.readouterr()
    assert "no dvc.yaml here" in printed.err
    assert "Traceback" not in printed.err + printed.out


@pytest.mark.parametrize(
    ("file", "printed"),
    [
        (Path(mediarank.__file__).parent / "ops/runs/workspace_run.py", "collect ...\n"),
        # A clone that is called mediarank, with its .venv inside: the name alone says nothing.
        (Path("/home/someone/mediarank/.venv/lib/python3.11/site-packages/prefect/flow_engine.py"), ""),
    ],
    ids=["of mediarank", "of Prefect"],
)
def test_only_what_mediarank_logs_is_printed(file: Path, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.LogRecord("prefect.flow_runs", logging.INFO, str(file), 1, "collect ...", None, None)
    console._Progress(Console(stderr=True, highlight=False)).emit(record)
    assert capsys.readouterr().err == printed
