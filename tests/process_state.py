"""What tests share because they share a process: logging, environment, folders, signals, settings of libraries.

`ProcessState.read` takes it down, `changes` says in words what is different now, `restore` puts it back. Settings of a
library are looked at only if the library has been imported; importing one is not a change, so loggers and settings
that did not exist before are ignored.
"""

from __future__ import annotations

import gc
import locale
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTEST_OWN = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)


@dataclass(frozen=True)
class ProcessState:
    """One reading: what it is, as a name for messages, and its value."""

    values: dict[str, Any]

    @classmethod
    def read(cls) -> ProcessState:
        return cls({name: value for part in PARTS for name, value in part().items()})

    def changes(self, patience: float = 1.0) -> list[str]:
        """What is different from this reading now, and still is after some patience with threads that are ending."""
        deadline = time.monotonic() + patience
        while (found := self._changes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _changes(self) -> list[str]:
        now = ProcessState.read().values
        return [
            f"{name} was {_short(value)}, is {_short(now.get(name))}"
            for name, value in self.values.items()
            if now.get(name) is not value and now.get(name) != value  # comparing Prefect's settings takes 5 ms
        ] + [f"{name} is new" for name in sorted(now.keys() - self.values.keys()) if name.startswith("environment ")]

    def restore(self) -> None:
        """Put back what has a way back: environment, folder, import path, signals, loggers, numpy's settings."""
        wanted = {k.removeprefix("environment "): v for k, v in self.values.items() if k.startswith("environment ")}
        for name in os.environ.keys() - wanted.keys() - set(PYTEST_OWN):
            del os.environ[name]
        os.environ.update(wanted)
        os.chdir(self.values["working directory"])
        sys.path[:] = self.values["sys.path"]
        tempfile.tempdir = self.values["tempfile.tempdir"]
        for number in SIGNALS:
            handler = self.values[f"handler of {number.name}"]
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        for name, found in self.values.items():
            if name.startswith("logger "):
                logger = logging.getLogger(name.removeprefix("logger ").removeprefix("root"))
                logger.level, logger.propagate, logger.disabled = found[:3]
                logger.handlers[:], logger.filters[:] = found[3], found[4]
        logging.disable(self.values["logging.disable"])
        if "numpy's print options" in self.values:
            import numpy as np

            np.set_printoptions(**dict(self.values["numpy's print options"]))
            np.seterr(**dict(self.values["numpy's error handling"]))


@contextmanager
def restored() -> Iterator[None]:
    """Restore the state of the process afterwards, whatever is done inside."""
    before = ProcessState.read()
    try:
        yield
    finally:
        before.restore()


def _environment() -> dict[str, Any]:
    return {f"environment {name}": value for name, value in os.environ.items() if name not in PYTEST_OWN}


def _interpreter() -> dict[str, Any]:
    try:
        folder = os.getcwd()  # noqa: PTH109 - a string, to go back to
    except FileNotFoundError:
        folder = "(removed)"
    return {
        "working directory": folder,
        "umask": _umask(),
        "sys.path": list(sys.path),
        "sys.argv": list(sys.argv),
        "sys.excepthook": sys.excepthook,
        "recursion limit": sys.getrecursionlimit(),
        "garbage collection": gc.isenabled(),
        "locale": locale.setlocale(locale.LC_ALL),
        "tempfile.tempdir": tempfile.tempdir,
        **{f"handler of {number.name}": signal.getsignal(number) for number in SIGNALS},
    }


def _umask() -> str:
    """As Linux reports it: the way of asking that is open to all sets it for a moment, in other threads too."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((line for line in lines if line.startswith("Umask:")), "")


def _logging() -> dict[str, Any]:
    loggers = {"root": logging.getLogger()} | {
        name: found for name, found in logging.Logger.manager.loggerDict.items() if isinstance(found, logging.Logger)
    }
    states: dict[str, Any] = {
        f"logger {name}": (
            logger.level,
            logger.propagate,
            logger.disabled,
            # pytest puts handlers of its own on the root logger for each phase of a test.
            [handler for handler in logger.handlers if not type(handler).__module__.startswith("_pytest")],
            [kept for kept in logger.filters if not type(kept).__module__.startswith("mlflow")],  # set by its import
        )
        for name, logger in loggers.items()
    }
    return states | {"logging.disable": logging.Logger.manager.disable}


def _numpy() -> dict[str, Any]:
    if "numpy" not in sys.modules:
        return {}
    import numpy as np

    return {
        "numpy's print options": sorted((k, v) for k, v in np.get_printoptions().items() if k != "override_repr"),
        "numpy's error handling": sorted(np.geterr().items()),
    }


def _pandas() -> dict[str, Any]:
    if "pandas" not in sys.modules:
        return {}
    import pandas as pd

    return {
        f"pandas' {name}": pd.get_option(name) for name in ("display.max_rows", "display.width", "display.precision")
    }


def _matplotlib() -> dict[str, Any]:
    found = sys.modules.get("matplotlib")
    return {"matplotlib's settings": dict(found.rcParams)} if found is not None and hasattr(found, "rcParams") else {}


def _mlflow() -> dict[str, Any]:
    tracking = sys.modules.get("mlflow.tracking._tracking_service.utils")
    registry = sys.modules.get("mlflow.tracking._model_registry.utils")
    fluent = sys.modules.get("mlflow.tracking.fluent")
    found: dict[str, Any] = {}
    if tracking is not None:
        found["MLflow's tracking address"] = getattr(tracking, "_tracking_uri", None)
    if registry is not None:
        found["MLflow's registry address"] = getattr(registry, "_registry_uri", None)
    if fluent is not None and hasattr(fluent, "_active_run_stack"):
        found["MLflow's active runs"] = list(fluent._active_run_stack.get())
        found["MLflow's experiment"] = getattr(fluent, "_active_experiment_id", None)
    return found


def _prefect() -> dict[str, Any]:
    context = sys.modules.get("prefect.settings.context")
    if context is None:
        return {}
    return {"Prefect's settings": context.get_current_settings()}


PARTS: tuple[Callable[[], dict[str, Any]], ...] = (
    _environment,
    _interpreter,
    _logging,
    _numpy,
    _pandas,
    _matplotlib,
    _mlflow,
    _prefect,
)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "…"
