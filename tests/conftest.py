"""The order of the tests, and a guard that every test leaves the process as it found it.

pytest-randomly shuffles the tests; its seed is printed at the end, and `--randomly-seed=N` repeats that order. The
files that take longest begin first, so that several workers end together.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator

import cv2  # noqa: F401 - importing it sets LD_LIBRARY_PATH: here, so that no test is blamed for it
import dvc  # noqa: F401 - importing it sets the level of asyncio's logger: the same
import pytest
import sklearn  # noqa: F401 - importing it sets two environment variables: the same
from process_state import ProcessState

# Tests are compiled once and not in every worker of every run, and so is the code in each process that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What `import_mlflow` sets for the whole process the first time that MLflow is used, in whichever test that is.
os.environ.update(
    MLFLOW_DISABLE_TELEMETRY="true",
    MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT="true",
    MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false",
)
logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)

LONGEST = ("test_whole_line.py", "test_script.py", "test_pipeline_flow.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed of the order: pytest hides it when it is quiet."""
    seed = config.getoption("randomly_seed", default=None)
    if seed is not None:
        terminalreporter.write_line(f"order of the tests: --randomly-seed={seed}")


@pytest.fixture(autouse=True)
def _leaves_no_trace() -> Iterator[None]:
    """Fail a test that changes what later tests see, and undo the change so that only this test fails."""
    before = ProcessState.read()
    yield
    changes = before.changes()
    if changes:
        before.restore()
        # Libraries set up loggers and signals when they are first used, in whichever test: put back, no fault of it.
        changes = [change for change in changes if change.startswith(("environment ", "working directory"))]
    if changes:
        pytest.fail("The test changed what later tests see: " + "; ".join(changes), pytrace=False)
