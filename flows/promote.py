"""Make the version in the workspace the champion, if it is not worse; a person starts this, so drift only warns."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from prefect import State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from steps import LONGEST, call_run, cause, step, tell_decisions, verdict

from mediarank.ops.runs.results import decisions_markdown
from mediarank.ops.runs.workspace_run import Workspace

ROOT = Path(__file__).resolve().parents[1]


@flow(name="promote", timeout_seconds=LONGEST)
def promote(workspace: str = str(ROOT), system: str = "", force: bool = False) -> State[dict[str, str]]:
    """Test the workspace's models, compare them with the champions, and promote those that are not worse.

    workspace : the project's folder
    system : only this system; by default all that can be served
    force : promote a worse model, too; a model that does not load and rank is never promoted
    """
    root = Path(workspace)
    call_run(f"{cause()} · {system or 'all systems'}{', forced' if force else ''}")
    arguments = ("promote", *([system] if system else []), *(["--force"] if force else []))
    with Workspace(root, get_run_logger().info, seconds=LONGEST) as run:
        state = step("promote", partial(run.command, "promote", arguments), return_state=True)
    if state.is_completed():
        tell_decisions(root)
        create_markdown_artifact(markdown=decisions_markdown(root), key="promotion", description="Promotion and drift")
    return verdict(root, "promote", {"promote": state})
