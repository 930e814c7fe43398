"""Run all stages of the project, independent ones in parallel, without a server: `mediarank run`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from mediarank.ops.runs.stage_processes import RunStopped
from mediarank.ops.runs.workspace_run import Done, FollowUp, PassingFault, PipelineRun, StageFailed
from mediarank.types import MediarankError

ATTEMPTS: Final = 3
"""How often a stage is tried if it meets a temporary fault."""
MOST_THREADS: Final = 256
"""How many stages may be ready at the same time; those that wait for a core use none."""
LONGEST: Final = 24 * 3600.0
"""Seconds that a stage may take."""


def run_stages(root: Path, say: Callable[[str], None], follow_ups: tuple[FollowUp, ...] = ()) -> dict[str, Done]:
    """Bring every stage up to date, then run the follow-ups; returns how each stage ended.

    After a failure no other stage is started; running stages are finished, so that their work is not lost.
    """
    # In this order: if the run is interrupted, its commands end first, and then the threads that wait for them.
    with ThreadPoolExecutor(MOST_THREADS) as threads, PipelineRun(root, say, seconds=LONGEST) as run:
        done: dict[str, Done] = {}
        started: dict[Future[Done], str] = {}
        failed: list[str] = []

        def start_what_is_ready() -> None:
            for stage in run.stages:
                waiting = stage.address not in done and stage.address not in started.values()
                if waiting and all(upstream in done for upstream in stage.upstream):
                    started[threads.submit(_steadily, run, stage.address, say)] = stage.address

        start_what_is_ready()
        while started:
            for future in wait(started, return_when=FIRST_COMPLETED).done:
                address = started.pop(future)
                try:
                    done[address] = future.result()
                except (StageFailed, PassingFault) as failure:
                    failed.append(str(failure))
                    run.start_no_more()
                except RunStopped:  # it had not begun when another one failed
                    continue
            if not failed:
                start_what_is_ready()
        if failed:
            raise MediarankError("\n".join(failed))
        for what in follow_ups:
            done[what.name] = run.follow_up(what, say)
        return {name: done[name] for name in (*(s.address for s in run.stages), *(what.name for what in follow_ups))}


def _steadily(run: PipelineRun, address: str, say: Callable[[str], None]) -> Done:
    """Run a stage, and retry it after a temporary fault."""
    for _ in range(ATTEMPTS - 1):
        try:
            return run.bring_up_to_date(address, lambda line: say(f"  {address}: {line}"))
        except PassingFault as fault:
            say(f"{fault}; trying again")
    return run.bring_up_to_date(address, lambda line: say(f"  {address}: {line}"))
