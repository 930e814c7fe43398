"""Feedback that survives a crash: a log that is written ahead, and snapshots of what was learned from it.

An event is appended to `events.log` and synced to disk before the model changes. Every so many events the model is
written to `snapshot.npz` in one step. `restore` reads the snapshot and learns the events after it again, which gives
the very weights that were lost. After the pipeline has fitted another model, all feedback is learned again from there.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mediarank import store
from mediarank.asking.workspace import Workspace
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import DataError


def open_live(workspace: Workspace, folder: Path, method: str | None = None) -> tuple[LiveRanker, FeedbackStore, int]:
    """The fitted retrieval model with all feedback learned, its store, and how many events named items that are gone.

    method : a fitted one; by default the served one
    """
    model = workspace.model("retrieval")
    if not isinstance(model, Model):
        raise DataError("The model of retrieval is of another kind; run `dvc repro`.")
    live, kept = LiveRanker(model, method), FeedbackStore(folder)
    return live, kept, kept.restore(live)


@dataclass(frozen=True)
class FeedbackStore:
    """folder : made when first needed; snapshot_every : events between snapshots"""

    folder: Path
    snapshot_every: int = 20

    @property
    def log(self) -> Path:
        return self.folder / "events.log"

    @property
    def snapshot(self) -> Path:
        return self.folder / "snapshot.npz"

    def events(self) -> list[Feedback]:
        """All feedback so far, in its order; half a line at the end, left by a crash, is no event."""
        return [_parse(line, number, self.log) for number, line in enumerate(self._lines(), start=1)]

    def restore(self, live: LiveRanker) -> int:
        """Bring a ranker to where all feedback leads. Returns how many events named what is no longer there."""
        with self._locked():
            return self._restore(live)[1]

    def record(self, live: LiveRanker, feedback: Feedback) -> None:
        """Make one more feedback durable, then learn it; `live` first catches up with what others have recorded."""
        live.check(feedback)
        with self._locked():
            applied, _ = self._restore(live)
            self._append(_line(feedback))
            live.learn(feedback)
            applied += 1
            if applied % self.snapshot_every == 0:
                base = np.frombuffer(live.fingerprint().encode(), dtype=np.uint8)
                store.write_arrays(self.snapshot, {**live.state(), "applied": np.array([applied]), "base": base})

    def _restore(self, live: LiveRanker) -> tuple[int, int]:
        """How many events there are, and how many had to be left out."""
        events = self.events()
        live.forget()
        start = 0
        if self.snapshot.exists():
            state = store.read_arrays(self.snapshot)
            applied = int(state["applied"].item())
            if bytes(state["base"]).decode() == live.fingerprint() and applied <= len(events):
                live.restore(state)
                start = applied
        left_out = 0
        for feedback in events[start:]:
            try:
                live.learn(feedback)
            except DataError:  # it names an item that has left the collection
                left_out += 1
        return len(events), left_out

    def _lines(self) -> list[bytes]:
        if not self.log.exists():
            return []
        return self.log.read_bytes().split(b"\n")[:-1]  # what follows the last line end is half a line, or nothing

    def _append(self, line: bytes) -> None:
        with self.log.open("ab+") as file:
            complete = sum(len(known) + 1 for known in self._lines())
            file.truncate(complete)  # half a line, if a crash left one
            file.seek(0, os.SEEK_END)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time: two that learn from one snapshot would lose an event."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _line(feedback: Feedback) -> bytes:
    vectors = [base64.b64encode(np.asarray(v, "<f4").tobytes()).decode() for v in feedback.vectors]
    event: dict[str, Any] = {"query": feedback.query, "relevant": feedback.relevant, "irrelevant": feedback.irrelevant}
    text = json.dumps({**event, **({"vectors": vectors} if vectors else {})}, sort_keys=True).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _parse(line: bytes, number: int, path: Path) -> Feedback:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise DataError(f"{path}, line {number} is damaged; delete the line to go on without that feedback.")
    event = json.loads(text)
    vectors = tuple(np.frombuffer(base64.b64decode(v), "<f4") for v in event.get("vectors", ()))
    return Feedback(event["query"], tuple(event["relevant"]), tuple(event["irrelevant"]), vectors)
