"""Return to an earlier version of the data, from the Prefect UI."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from prefect import State, flow, get_run_logger
from steps import LONGEST, call_run, cause, step, verdict

from mediarank.ops.runs.workspace_run import Workspace

ROOT = Path(__file__).resolve().parents[1]


@flow(name="rollback", timeout_seconds=LONGEST)
def rollback(version: str, workspace: str = str(ROOT)) -> State[dict[str, str]]:
    """Restore the data, params and lock of a version, verified file by file; this can be undone the same way.

    version : a commit or tag, as `mediarank versions` lists them
    workspace : the project's folder
    """
    root = Path(workspace)
    call_run(f"{cause()} · to {version}")
    # `mediarank rollback` takes the workspace's lock itself.
    with Workspace(root, get_run_logger().info, seconds=LONGEST, hold=False) as run:
        state = step("rollback", partial(run.command, "rollback", ("rollback", version)), return_state=True)
    return verdict(root, "rollback", {"rollback": state})
