"""What `mediarank` without a command says: the state of this folder, and the three commands that matter now."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mediarank.ops.runs.report_baseline import SUMMARY
from mediarank.ops.runs.results import REPORT, report_address
from mediarank.ops.versions.git import ask_git

Step = tuple[str, str]
"""A command and what it does."""


@dataclass(frozen=True)
class State:
    """What is in a folder.

    params : whether there is a params.yaml; failed : the check that stopped the last run, if one did
    summary : of the last report, or empty; committed : whether dvc.lock is as git has it
    corrections : statements of people that the last run has not seen
    served : whether the web pages run
    """

    params: bool = True
    demo: bool = True
    failed: str = ""
    summary: dict[str, Any] | None = None
    committed: bool = True
    corrections: bool = False
    served: str = ""


def next_steps(root: Path) -> str:
    """The state in a sentence, and three commands."""
    sentence, steps = advice(read_state(root))
    lines = [f"  {command:<44} {why}" for command, why in steps]
    return "\n".join([sentence, "", *lines, "", "`mediarank --help` lists all commands; docs/tutorial.md is a tour."])


def read_state(root: Path) -> State:
    """Look at the folder; nothing slow is imported."""
    params = root / "params.yaml"
    if not params.exists():
        return State(params=False)
    summary = _json(root / SUMMARY)
    failed = next(
        (path.parent.name for path in sorted(root.glob("data/check_*/result.json")) if not _json(path).get("success")),
        "",
    )
    written = _newest(root / "labels/journal"), _newest(root / "data/manifest/statements.csv")
    changed = ask_git(root, "status", "--porcelain", "--", "dvc.lock")
    return State(
        demo="source: demo" in params.read_text(),
        failed=failed,
        summary=summary or None,
        committed=not changed,
        corrections=written[0] > written[1],
        served=report_address(root),
    )


def advice(state: State) -> tuple[str, list[Step]]:
    """A sentence about the state, and the three commands that matter most."""
    if not state.params:
        return "This folder is not a mediarank project: it has no params.yaml.", [
            ("cd FOLDER", "go to the folder that you cloned"),
            ("mediarank collections ~/Pictures", "say how a folder would be read"),
            ("mediarank show PICTURE", "draw what the feature families see in a file"),
        ]
    look: Step = ("mediarank explore", "look, search, correct and teach in a browser")
    own: Step = ("mediarank init ~/Pictures", "take your own pictures instead of the demo")
    if state.failed:
        return f"The last run stopped at the check {state.failed}.", [
            ("mediarank quarantine", "what can't be used, and what it would need"),
            (f"mediarank {state.failed}", "the check again, with what it expected"),
            ("mediarank run", "go on, once it is fixed"),
        ]
    if state.summary is None:
        first: Step = ("make run", "draw the demo collection and learn it" if state.demo else "learn this collection")
        return "Nothing has run here yet.", [first, own, ("mediarank params", "the settings")]
    items = sum(state.summary.get("items", {}).values())
    sentence = f"{items:,} items; {_measured(state.summary)}"
    if state.corrections:
        return f"{sentence} There are corrections that the last run has not seen.", [
            ("mediarank run", "learn them"),
            ("mediarank label list", "what was said"),
            ("mediarank review", "what to look at next"),
        ]
    weakest = _weakest(state.summary)
    ask: Step = (f"mediarank find {weakest[1]}", "which items show it") if weakest[1] else look
    teach: Step = (f"mediarank review {weakest[0]}", "what to label next for the name that is found worst")
    if not weakest[0]:
        teach = ("mediarank review", "what to label first")
    if not state.committed:
        keep: Step = ('git add --all && git commit -m "…"', "keep this version, to compare with and to go back to")
        return f"{sentence} This version is not kept yet.", [keep, ask, teach]
    if not state.served:
        ask = ("make up", f"the web pages: explorer, report ({REPORT}), runs, versions")
    return sentence, [ask, teach, own if state.demo else ("mediarank versions", "what each version changed")]


def _measured(summary: dict[str, Any]) -> str:
    found = [f"{name} {r['measure']} {r['mean']:.2f}" for name, r in summary.get("systems", {}).items()]
    return f"{', '.join(found)}." if found else "nothing could be measured yet: there are no labels to learn from."


def _weakest(summary: dict[str, Any]) -> tuple[str, str]:
    """The name that is found worst, and the one that is found best, of those that can be found."""
    names: dict[str, float] = summary.get("systems", {}).get("concepts", {}).get("names", {})
    by: Callable[[str], tuple[float, str]] = lambda name: (names[name], name)  # noqa: E731 - a key, used twice
    return (min(names, key=by), max(names, key=by)) if names else ("", "")


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def _newest(path: Path) -> float:
    """When a file, or the newest below a folder, was written; 0 if there is none."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return max((file.stat().st_mtime for file in files), default=0.0)
