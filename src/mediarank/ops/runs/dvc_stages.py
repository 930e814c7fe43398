"""Stages of one DVC project, brought up to date in the steps of `dvc repro`, but several at a time.

`dvc repro` handles one stage after the other: is it up to date, are its outputs in the run cache, run its command,
record its outputs. Here the caller runs the command: `begin` does what comes before it and `finish` what comes after
it, so that commands of independent stages can run in parallel while DVC is imported once and its lock is held only for
moments. The results in dvc.lock, in the cache and in the run cache are those of `dvc repro`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mediarank import store
from mediarank.ops.runs.dag import LOCK, PLAN, Plan, address_of, commands_of, open_repo, plan_of, put_in_order
from mediarank.ops.runs.dvc_looks import looked_at_once, watched
from mediarank.ops.runs.lock_text import with_entry
from mediarank.ops.runs.unchanged_sources import STAGE_VARIABLE, WATCHED_VARIABLE
from mediarank.ops.versions.objects import CACHE_VARIABLE, cache_note

CACHED, RESTORED, RAN, TO_RUN = "cached", "restored", "ran", "to run"


@dataclass(frozen=True)
class Begun:
    """The state of a stage, and the commands still to be run for it.

    outcome : CACHED, RESTORED, RAN (a stage without a command), or TO_RUN: call `finish` after the commands
    commands : as dvc.yaml writes them, for a shell
    folder : where to run them
    variables : what DVC adds to their environment, which folders are watched here, and where DVC's cache is
    """

    outcome: str
    commands: tuple[str, ...] = ()
    folder: str = ""
    variables: tuple[tuple[str, str], ...] = ()


class Stages:
    """The stages of the project at `root`; not thread-safe.

    What stages read of each other stays locked for other DVC processes until the end, their outputs until they are
    finished.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._stack = ExitStack()
        self._reading: set[str] = set()
        self._writing: dict[str, ExitStack] = {}

    def __enter__(self) -> Stages:
        with ExitStack() as stack:
            self._repo = stack.enter_context(open_repo(self.root))
            with self._repo.lock:
                self.plan, planned = plan_of(self._repo)
            self._stages = {address_of(stage): stage for stage in planned}
            # Only these are locked until the end: DVC writes no code, and rewrites the list of locks at every question.
            self._made = {path for stage in planned for path in _paths(stage.outs)}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for address in list(self._writing):
            self.abandon(address)
        with self._repo.lock:
            self._stack.close()

    def begin(self, address: str) -> Begun:
        """Do everything that comes before a stage's command; its upstream stages are up to date."""
        from dvc.stage.cache import RunCacheNotFoundError

        stage = self._stages[address]
        folders = json.dumps(watched(stage.deps))
        with self._at_work(stage, address), looked_at_once(stage.deps):
            if not stage.changed():
                return Begun(CACHED)
            if stage.frozen or stage.is_import or not stage.cmd:
                stage.reproduce()
                self._dump(stage)
                return Begun(RAN)
            stage.remove_outs(ignore_remove=False, force=False)
            try:
                self._repo.stage_cache.restore(stage)
            except RunCacheNotFoundError:
                stage.save_deps()
                self._writing[address] = self._claim.pop_all()
                dvcs = (("DVC_ROOT", self._repo.root_dir), (STAGE_VARIABLE, stage.addressing))
                ours = ((WATCHED_VARIABLE, folders), (CACHE_VARIABLE, cache_note(self._repo)))
                return Begun(TO_RUN, commands_of(stage.cmd), stage.wdir, (*dvcs, *ours))
            self._record(stage)
            return Begun(RESTORED)

    def finish(self, address: str) -> None:
        """Record what a stage's commands wrote; DataError if a folder outside the project changed meanwhile."""
        stage = self._stages[address]
        self._claim = self._writing.pop(address)
        with self._at_work(stage), looked_at_once(stage.deps, after=True):
            self._record(stage)

    def abandon(self, address: str) -> None:
        """Forget a stage whose commands failed; nothing about it is recorded."""
        with self._repo.lock:
            self._writing.pop(address).close()

    def put_in_order(self) -> None:
        """See `dag.put_in_order`."""
        with self._repo.lock:
            put_in_order(self._repo, self.plan)

    def _record(self, stage: Any) -> None:
        uncached = any(not out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))
        stage.save(run_cache=not uncached)
        stage.commit()
        self._dump(stage)

    def _dump(self, stage: Any) -> None:
        """Write the stage's entry into dvc.lock, as `stage.dump` does, only faster; see `lock_text.py`."""
        from dvc.stage.serialize import to_single_stage_lockfile

        path = self.root / LOCK
        if getattr(stage, "name", None) and stage.path_in_repo == PLAN:
            text = path.read_text() if path.exists() else ""
            changed = with_entry(text, stage.name, to_single_stage_lockfile(stage))
            if changed is not None:
                if changed != text:
                    store.write_text(path, changed)
                return
        stage.dump(update_pipeline=False)

    @contextmanager
    def _at_work(self, stage: Any, claim: str = "") -> Iterator[None]:
        """Hold DVC's lock and the claim on what the stage reads and writes; the claim ends here unless it was moved."""
        with self._repo.lock, self._repo.scm_context(quiet=True):
            if claim:
                self._claim = ExitStack()
                reads = [path for path in _paths(stage.deps) if path in self._made and path not in self._reading]
                self._stack.enter_context(self._rwlock(reads, []))
                self._reading.update(reads)
                self._claim.enter_context(self._rwlock([], _paths(stage.outs)))
            try:
                yield
            finally:
                self._claim.close()
                self._repo._reset()  # as DVC does between two stages, to drop cached state

    def _rwlock(self, read: list[str], write: list[str]) -> Any:
        import sys

        from dvc.rwlock import rwlock

        hard = self._repo.config["core"].get("hardlink_lock", False)
        # DVC's own calls take the lock under this name, so that this process does not block itself.
        return rwlock(self._repo.tmp_dir, self._repo.fs, " ".join(sys.argv), read, write, hard)


def _paths(entries: Any) -> list[str]:
    from dvc.dependency.db import AbstractDependency
    from dvc.dependency.repo import RepoDependency

    return [entry.fs_path for entry in entries if not isinstance(entry, (RepoDependency, AbstractDependency))]


__all__ = ["CACHED", "RAN", "RESTORED", "TO_RUN", "Begun", "Plan", "Stages"]
