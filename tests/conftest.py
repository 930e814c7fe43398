"""The order of the tests, and a guard that every test leaves the process as it found it.

pytest-randomly shuffles the tests; its seed is printed at the end, and `--randomly-seed=N` repeats that order. With
several workers the tests of a file stay on one of them, and so do those of a folder that share a costly fixture; what
takes longest begins first, so that the workers end together.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import cv2  # noqa: F401 - importing it sets LD_LIBRARY_PATH: here, so that no test is blamed for it
import dvc  # noqa: F401 - importing it sets the level of asyncio's logger: the same
import pytest
import sklearn  # noqa: F401 - importing it sets two environment variables: the same
from process_state import ProcessState

# Tests are compiled once and not in every worker of every run, and so is the code in each process that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Whoever runs the tests, and whatever git knows of them, somebody called ada speaks.
os.environ.update(MEDIARANK_AUTHOR="ada", GIT_CONFIG_GLOBAL=os.devnull)

# What `import_mlflow` sets for the whole process the first time that MLflow is used, in whichever test that is.
os.environ.update(
    MLFLOW_DISABLE_TELEMETRY="true",
    MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT="true",
    MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false",
)
logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)

TOGETHER = ("tests/flows/", "tests/asking/")
"""One Prefect server, one workspace with four fitted systems."""
LONGEST = (
    "tests/test_whole_line.py", "tests/flows/", "tests/stages/test_wire.py", "tests/explorer/test_browser.py",
    "tests/ops/runs/test_side_by_side.py", "tests/ops/models/test_model_app.py", "tests/test_disk.py",
    "tests/systems/annotation/test_fit.py", "tests/asking/",
)  # fmt: skip


def _group(path: str) -> str:
    """What stays on one worker: a file, or one of the folders above."""
    return next((folder for folder in TOGETHER if path.startswith(folder)), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out groups, in the order in which the tests are sorted."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid.split("::", 1)[0])

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {group: place for place, group in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(_group(item.nodeid.split("::", 1)[0]), len(places)))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking again and again at all that the imports have made."""
    gc.collect()
    gc.freeze()


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
