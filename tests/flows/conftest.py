"""One Prefect server per worker for all tests of the flows, and a fresh toy project for each test."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import toy_project

from mediarank.ops.services.environment import quiet_environment

# Prefect reads its settings when it is imported, and the test modules import it: its home is set here, before that.
_HOME = Path(tempfile.mkdtemp(prefix="mediarank-prefect-"))
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ.update(quiet_environment(_HOME), PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="CRITICAL")
sys.path.insert(0, str(toy_project.REPOSITORY / "flows"))


@pytest.fixture(autouse=True)
def _prefect_loggers_as_before() -> Iterator[None]:
    """Take back what Prefect puts on its loggers: every run adds one more filter, which are never removed."""
    loggers = [logging.getLogger(name) for name in ("prefect", "prefect.flow_runs", "prefect.task_runs")]
    before = [(logger, list(logger.filters)) for logger in loggers]
    yield
    for logger, filters in before:
        logger.filters[:] = filters


# What Prefect's server would do all the time, and no test of flows needs.
IDLE = (
    "CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "FOREMAN", "LATE_RUNS", "PAUSE_EXPIRATIONS", "REPOSSESSOR",
    "SCHEDULER", "TRIGGERS",
)  # fmt: skip


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    """The address of a Prefect server that lasts as long as this worker's tests."""
    from prefect import settings
    from prefect.testing.utilities import prefect_test_harness

    without: dict[Any, Any] = {getattr(settings, f"PREFECT_SERVER_SERVICES_{name}_ENABLED"): False for name in IDLE}
    # Heartbeats would hold up the end of every flow run by up to a second.
    without[settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY] = None
    with settings.temporary_settings(without), prefect_test_harness(server_startup_timeout=240):
        yield str(settings.PREFECT_API_URL.value())


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_project.make(tmp_path_factory.mktemp("toy") / "template")


@pytest.fixture(scope="session")
def finished_template(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    finished = toy_project.copy(template, tmp_path_factory.mktemp("toy") / "finished")
    toy_project.plain_repro(finished)
    return finished


@pytest.fixture(scope="session")
def new_project(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes toy projects that have never been run."""
    return lambda: toy_project.copy(template, tmp_path_factory.mktemp("toy") / "project")


@pytest.fixture
def finished_project(finished_template: Path, tmp_path: Path) -> Path:
    """A toy project that plain `dvc repro` has brought up to date."""
    return toy_project.copy(finished_template, tmp_path / "project")
