"""The variables are those that the installed tools read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mediarank.ops.services.environment import child_environment, quiet_environment, state_folder

ASK = """
import json
from dvc.analytics import is_enabled
from mlflow.environment_variables import MLFLOW_SERVER_ENABLE_JOB_EXECUTION
from mlflow.telemetry.utils import is_telemetry_disabled
from prefect._internal.analytics.enabled import is_telemetry_enabled
from prefect.settings import get_current_settings
settings = get_current_settings()
print(json.dumps([
    is_enabled(), is_telemetry_disabled(), MLFLOW_SERVER_ENABLE_JOB_EXECUTION.get(), is_telemetry_enabled(),
    settings.server.analytics_enabled, settings.server.ui.show_promotional_content,
    settings.server.ephemeral.startup_timeout_seconds, str(settings.home), settings.cli.prompt,
]))
"""


def test_every_tool_understands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    # CI switches some of this off by itself; that must not be what we see.
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    plain = {name: os.environ[name] for name in kept if name in os.environ}
    answer = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**plain, **quiet_environment(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    home = str(tmp_path / ".mediarank/prefect")
    assert json.loads(answer.stdout) == [False, True, False, False, False, False, 90, home, False]


def test_a_home_that_was_chosen_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    assert quiet_environment(tmp_path)["PREFECT_HOME"] == str(tmp_path / ".mediarank/prefect")
    monkeypatch.setenv("PREFECT_HOME", "/elsewhere")
    assert quiet_environment(tmp_path)["PREFECT_HOME"] == "/elsewhere"


def test_a_child_keeps_the_rest_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    monkeypatch.setenv("MEDIARANK_JOBS", "1")
    child = child_environment(tmp_path)
    assert (child["MEDIARANK_JOBS"], child["DO_NOT_TRACK"]) == ("1", "true")


def test_state_folder_is_made_once(tmp_path: Path) -> None:
    assert state_folder(tmp_path / "new") == state_folder(tmp_path / "new") == tmp_path / "new/.mediarank"
    assert (tmp_path / "new/.mediarank").is_dir()
