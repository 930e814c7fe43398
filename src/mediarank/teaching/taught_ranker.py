"""A fitted ranker that has learned people's feedback.

`Teacher` learns the events of `feedback.py`, and `Moved` says what an event changed. Everybody's weights are checked on
validation queries at every snapshot: if they rank worse than the fitted model, they are drawn back towards it. A
snapshot only saves time: without it, or with a damaged one, the same weights are learned again from the journal, bit by
bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from mediarank import store
from mediarank.asking.workspace import Workspace
from mediarank.systems.retrieval.live import Feedback, Hit, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.teaching.feedback import Event, FeedbackLog
from mediarank.teaching.journal import Damaged
from mediarank.types import DataError, Doubles, Floats

SNAPSHOT_EVERY: Final = 20
SHARES: Final = (1.0, 0.5, 0.25, 0.1)
"""How much of what everybody taught is used: the first at which validation queries rank no worse."""
DAMPED: Final = 20.0
"""How much more cautious everybody's weights are about an event that speaks of one query."""
IMPLIED: Final = 5.0
"""How much more cautious ranking weights are about results that were only skipped."""
MORE_LIKE: Final = 1.5
LESS_LIKE: Final = 0.2
"""What the results that fit, and those that don't, add to a search with the same query."""


Check = Callable[[LiveRanker], float]
"""How well a ranker does on validation queries, higher is better; NaN where it can't be said."""


@dataclass
class Teacher:
    """A fitted ranker and what people taught it.

    live : starts at the fitted method; its weights are set for each search
    check : on validation queries; none means that everybody's weights are used as they are
    snapshot : a file that saves time
    """

    live: LiveRanker
    events: Sequence[Event]
    check: Check | None = None
    snapshot: Path | None = None
    left_out: int = field(default=0, init=False)
    share: float = field(default=1.0, init=False)

    def __post_init__(self) -> None:
        known = set(self.live.ids)
        taught = []
        for event in self.events:
            fits = len(event.vectors) == len(self.live.features) if event.vectors else event.query in known
            if fits and known.issuperset(event.relevant) and known.issuperset(event.negatives):
                taught.append(event)
        self.left_out = len(self.events) - len(taught)
        self.events = taught
        self._shared = [e for e in taught if e.scope != "session" and e.relevant and e.negatives]
        self._learn_everybody()

    def search(
        self, query: str, vectors: Sequence[Floats], count: int, session: str = "", sha256: str = "", known: bool = True
    ) -> list[Hit]:
        """The best items for a query with all feedback that counts for it. known : the query is an item"""
        scores = self.scores(query, vectors, session, sha256)
        order = np.argsort(-scores, kind="stable").tolist()
        hits = (Hit(self.live.ids[k], float(scores[k])) for k in order)
        return [hit for hit, _ in zip((h for h in hits if not (known and h.item == query)), range(count), strict=False)]

    def scores(self, query: str, vectors: Sequence[Floats], session: str = "", sha256: str = "") -> Doubles:
        """(items,) for a query: everybody's weights, then what was said of this query and in this session."""
        about = self.prepare(query, session, sha256)
        found = np.asarray(self.live.scores(vectors), np.float64)
        liked = list(dict.fromkeys(item for e in about for item in e.relevant))
        disliked = [i for i in dict.fromkeys(item for e in about for item in e.irrelevant) if i not in liked]
        if liked or disliked:
            found = _plain(found)
        for items, strength in ((liked, MORE_LIKE), (disliked, -LESS_LIKE)):
            if items:
                found = found + strength * np.mean(
                    [_plain(self.live.scores(self.live.vectors(item))) for item in items], axis=0
                )
        # What was said to fit comes first, and what was said not to fit comes last.
        span = float(np.ptp(found)) + 1.0
        for items, sign in ((liked, 1.0), (disliked, -1.0)):
            found[self.live.model.places(items)] += sign * span
        return found

    def prepare(self, query: str, session: str = "", sha256: str = "") -> list[Event]:
        """Set the ranker's weights for a query; returns the events that speak of it and count here."""
        own = [e for e in self.events if e.scope == "query" and e.about(query, sha256)]
        within = [e for e in self.events if e.scope == "session" and session and e.session == session]
        self.live.restore(self._everybody)
        for event in (*within, *own):
            self._apply(event, 1.0)
        return [*own, *(e for e in within if e.about(query, sha256))]

    def _apply(self, event: Event, caution: float) -> None:
        if event.relevant and event.negatives:
            implied = 1.0 if event.irrelevant else IMPLIED
            asked = Feedback(event.query, event.relevant, event.negatives, event.vectors)
            self.live.learn(asked, caution * implied * self.live.caution)

    def _learn_everybody(self) -> None:
        """All shared events from the last snapshot on, or from the start; then the check."""
        self.live.forget()
        fitted = self.live.state()["weights"].copy()
        boundary = len(self._shared) - len(self._shared) % SNAPSHOT_EVERY
        start, share = self._restored(boundary)
        for number, event in enumerate(self._shared[start:], start=start + 1):
            self._apply(event, 1.0 if event.scope == "everybody" else DAMPED)
            if number == boundary:
                share = self._checked(fitted)
                self._keep(boundary, share)
        self.share = share
        state = self.live.state()
        self._everybody = {**state, "weights": fitted + self.share * (state["weights"] - fitted)}

    def _checked(self, fitted: Doubles) -> float:
        """How much of what was taught can be used without ranking validation queries worse."""
        if self.check is None:
            return 1.0
        taught = {name: array.copy() for name, array in self.live.state().items()}
        self.live.restore({**taught, "weights": fitted})
        floor = self.check(self.live)
        found = 0.0
        if np.isnan(floor):
            found = 1.0
        else:
            for share in SHARES:
                self.live.restore({**taught, "weights": fitted + share * (taught["weights"] - fitted)})
                if self.check(self.live) >= floor:
                    found = share
                    break
        self.live.restore(taught)
        return found

    def _digest(self, count: int) -> str:
        """Of the fitted model and the first events: a snapshot of anything else is of no use."""
        ids = "\n".join(event.id or repr(event) for event in self._shared[:count])
        return hashlib.sha256(f"{self.live.fingerprint()}\n{self.check is None}\n{ids}".encode()).hexdigest()

    def _keep(self, count: int, share: float) -> None:
        if self.snapshot is not None:
            digest = np.frombuffer(self._digest(count).encode(), dtype=np.uint8)
            facts = {"count": np.array([count]), "share": np.array([share]), "digest": digest}
            store.write_arrays(self.snapshot, {**self.live.state(), **facts})

    def _restored(self, boundary: int) -> tuple[int, float]:
        """Events that a snapshot stands for, and the share; 0 and 1 without one that fits."""
        if self.snapshot is None or not self.snapshot.exists():
            return 0, 1.0
        try:
            state = store.read_arrays(self.snapshot)
            count, share = int(state["count"].item()), float(state["share"].item())
            fits = count == boundary and bytes(state["digest"]).decode() == self._digest(count)
            if fits and all(np.isfinite(state[name]).all() for name in ("weights", "covariance")):
                self.live.restore(state)
                return count, share
        except (DataError, KeyError, ValueError, UnicodeDecodeError):
            pass
        self.snapshot.unlink(missing_ok=True)  # damaged, or of other events: it is made again
        self.live.forget()
        return 0, 1.0


@dataclass(frozen=True)
class Moved:
    """What an event changed in the first results of its query: places with another item than before.

    entered : how many of those items were not among the first results before
    """

    changed: int
    entered: int
    count: int

    def __str__(self) -> str:
        if not self.changed:
            return "nothing changed: the first results already agree with what you said"
        return f"{self.changed} of the first {self.count} changed, {self.entered or 'none'} of them new there"


def moved(before: Sequence[Hit], after: Sequence[Hit]) -> Moved:
    """Compare the first results before and after."""
    places = {hit.item: rank for rank, hit in enumerate(before)}
    changed = sum(places.get(hit.item) != rank for rank, hit in enumerate(after))
    return Moved(changed, sum(hit.item not in places for hit in after), len(after))


def open_teacher(
    workspace: Workspace, folder: Path, snapshots: Path | None = None, method: str | None = None
) -> tuple[Teacher, FeedbackLog, tuple[Damaged, ...]]:
    """The fitted retrieval model with all feedback learned, the log, and the lines that were skipped.

    folder : of the feedback stream; snapshots : a folder for what saves time; method : by default the served one
    """
    model = workspace.model("retrieval")
    if not isinstance(model, Model):
        raise DataError("The model of retrieval is of another kind; run `dvc repro`.")
    live, log = LiveRanker(model, method), FeedbackLog(folder)
    events, damaged = log.read()
    snapshot = None if snapshots is None else snapshots / f"{live.method}.npz"
    return Teacher(live, events, validation_check(workspace, model), snapshot), log, damaged


def validation_check(workspace: Workspace, model: Model, most: int = 40) -> Check | None:
    """Mean average precision over queries of the role `valid`, by classes; None where nothing can be checked."""
    from mediarank.evaluation.metrics import average_precision

    class_of = {item: name for item, name in workspace.labels.class_of.items() if item in model}
    roles = workspace.data / "splits/roles.parquet"
    if not class_of or not roles.exists():
        return None
    asked = [item for item in store.read_roles(roles).items("valid") if item in class_of][:most]
    if not asked:
        return None
    classes = np.array([class_of.get(item, "") for item in model.names])

    def check(live: LiveRanker) -> float:
        found = []
        for query in asked:
            others = np.array([item != query for item in model.names])
            relevant = (classes == class_of[query])[others]
            if relevant.any():
                found.append(average_precision(relevant, live.scores(live.vectors(query))[others]))
        return float(np.mean(found)) if found else float("nan")

    return check


def _plain(scores: Any) -> Doubles:
    values = np.asarray(scores, np.float64)
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))
