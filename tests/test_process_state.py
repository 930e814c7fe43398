"""The guard over the process's state: it detects each kind of change, undoes it, and fails the test that caused it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from process_state import ProcessState

HERE = Path(__file__).parent


def _handler() -> None:
    logging.getLogger().addHandler(logging.StreamHandler())


LEAKS: dict[str, tuple[Callable[[], object], str]] = {
    "new variable": (lambda: os.environ.update(MEDIARANK_LEAK="1"), "environment MEDIARANK_LEAK"),
    "changed variable": (lambda: os.environ.update(PATH="/nowhere"), "environment PATH"),
    "removed variable": (lambda: os.environ.pop("PATH"), "environment PATH"),
    "working directory": (lambda: os.chdir(tempfile.gettempdir()), "working directory"),
    "import path": (lambda: sys.path.append("/nowhere"), "sys.path"),
    "handler of the root logger": (_handler, "logger root"),
    "level of a logger": (lambda: logging.getLogger("asyncio").setLevel(5), "logger asyncio"),
    "logging switched off": (lambda: logging.disable(logging.ERROR), "logging.disable"),
    "signal": (lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN), "handler of SIGTERM"),
    "numpy's printing": (lambda: np.set_printoptions(precision=2), "numpy's print options"),
    "numpy's errors": (lambda: np.seterr(all="raise"), "numpy's error handling"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_change_is_named_and_undone(leak: str) -> None:
    work, named = LEAKS[leak]
    logging.getLogger("asyncio")
    before = ProcessState.read()
    work()
    changes = before.changes(patience=0)
    before.restore()
    assert len(changes) == 1
    assert changes[0].startswith(named)
    assert before.changes() == []


def test_importing_a_library_is_no_change() -> None:
    before = ProcessState.read()
    logging.getLogger("a.library.that.was.just.imported").setLevel(logging.DEBUG)
    assert before.changes() == []


def test_the_test_that_leaks_fails_and_not_the_next(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "import os\n\ndef test_leaks():\n    os.environ['LEFT'] = '1'\n\n"
        "def test_next():\n    assert 'LEFT' not in os.environ\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", "-rE", "-c", os.devnull, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "2 passed, 1 error" in ended.stdout
    assert "ERROR test_it.py::test_leaks" in ended.stdout
    assert "environment LEFT is new" in ended.stdout
