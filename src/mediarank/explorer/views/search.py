"""Search by example: from one item, several, or a file that was dropped; ✓ and ✕ rank again at once.

What was ticked is part of the address, so every state is a link. Ticks teach this page alone until they are kept; then
they are feedback in the journal, for this search or for everybody's, and can be taken back.
"""

from __future__ import annotations

import copy
import hashlib
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from mediarank.asking.explaining import LOOKS
from mediarank.asking.items import Asked
from mediarank.asking.search import query_vectors
from mediarank.asking.workspace import Workspace
from mediarank.explorer.app import Fields, explorer_of, link
from mediarank.explorer.doors import TOKEN_FIELD, UPLOAD_BYTES
from mediarank.explorer.measures import ASKING
from mediarank.explorer.said import ORIGIN
from mediarank.explorer.snapshot import Snapshot, feedback_folder, read_journal_mark
from mediarank.media.limits import Limits
from mediarank.similarity.nearest import top
from mediarank.similarity.phi import SIMILARITIES, phi_over_types
from mediarank.systems.retrieval.learned_types import LEARNED_TYPES
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.teaching.feedback import Event, FeedbackLog, Scope, passed_over
from mediarank.teaching.journal import current_author
from mediarank.teaching.taught_ranker import Teacher, open_teacher
from mediarank.types import ConfigError, DataError, Doubles, Floats

router = APIRouter()
COUNT: Final = 48
KEPT_FILES: Final = 32
EXPLAINED: Final = 3
"""Parts of a reason that are shown."""
PLACES: Final = 2000
"""Places of the list before that are remembered, to say what moved."""
SCOPES: Final = {"query": "searches with the same example", "everybody": "everybody's searches"}
UPLOADS: Final = Limits(
    max_bytes=UPLOAD_BYTES, max_pixels=50_000_000, max_seconds=300, max_frames=20_000, timeout_seconds=30
)
"""What a dropped file may ask for; params.yaml may be stricter."""


@dataclass(frozen=True, eq=False)
class Query:
    """What is searched with. vectors : one per feature type; inside : whether it is an item of the collection"""

    name: str
    sha256: str
    vectors: tuple[Floats, ...]
    inside: bool


@dataclass
class Files:
    """The vectors of files that were dropped, newest last; the files themselves are not kept."""

    known: OrderedDict[str, Query] = field(default_factory=OrderedDict)

    def keep(self, query: Query) -> str:
        key = secrets.token_urlsafe(9)
        self.known[key] = query
        while len(self.known) > KEPT_FILES:
            self.known.popitem(last=False)
        return key

    def get(self, key: str) -> Query:
        if key not in self.known:
            raise DataError("The dropped file is no longer kept; drop it again.")
        return self.known[key]


FILES: Final = Files()


@dataclass(frozen=True)
class Found:
    """A hit on the page. moved : places up (positive) or down since before the ticks; why : the parts that decided"""

    item: str
    score: float
    tick: str
    moved: int | None
    why: str


@router.get("/search")
def search(request: Request) -> Response:
    explorer = explorer_of(request)
    snapshot, given = explorer.snapshot, request.query_params
    items, yes, no = (list(dict.fromkeys(given.getlist(key))) for key in ("item", "yes", "no"))
    file, method = given.get("file"), given.get("method") or None
    if not items and not file:
        return explorer.page("search.html", "/search", hits=[], items=[], file=None, yes=[], no=[], model=None)
    queries = queries_of(snapshot, items, file)
    with ASKING:
        teacher = teacher_of(snapshot, method)
        hits = ranked(teacher, queries, yes, no)
        about = [event for event in teacher.events for q in queries if event.about(q.name, q.sha256)]
    model = teacher.live.model
    return explorer.page(
        "search.html",
        "/search",
        hits=hits,
        items=items,
        file=file,
        file_name=next((q.name for q in queries if not q.inside), None),
        yes=yes,
        no=no,
        model=model,
        method=model.method(method),
        about=about,
        share=teacher.share,
        scopes=SCOPES,
        said=given.get("said", ""),
        state=[*(("item", one) for one in items), *([("file", file)] if file else []),
               *(("yes", one) for one in yes), *(("no", one) for one in no),
               *([("method", method)] if method else [])],
    )  # fmt: skip


@router.post("/search/keep")
def keep(request: Request, fields: Fields) -> Response:
    """Make the ticks feedback in the journal."""
    snapshot = explorer_of(request).snapshot
    items, yes, no = (fields.get(key, []) for key in ("item", "yes", "no"))
    file, scope = fields.get("file", [""])[0], fields.get("scope", ["query"])[0]
    if scope not in SCOPES:
        raise DataError(f"Feedback counts for one of {', '.join(SCOPES)}, not {scope!r}. Nothing was written.")
    for item in (*yes, *no):
        snapshot.row(item)
    said, log = "", FeedbackLog(feedback_folder(snapshot.root))
    queries = queries_of(snapshot, items, file or None)
    with ASKING:
        teacher = teacher_of(snapshot, None)
        before = best(teacher.live, mean_scores(teacher, queries), {q.name for q in queries if q.inside})
        for event in events_of(queries, yes, no, before, "everybody" if scope == "everybody" else "query"):
            said = log.record(event, ORIGIN, current_author(snapshot.root)).id
    state = {"item": items} | ({"file": file} if file else {})
    return RedirectResponse(link("/search", **state, said=said), 303)


@router.post("/search/file")
async def drop(request: Request) -> Response:
    """Describe a dropped file in a guarded process, and search with its vectors."""
    explorer = explorer_of(request)
    form = await request.form(max_files=1, max_fields=4)
    if not explorer.doors.has_page_token(form.get(TOKEN_FIELD)):
        raise ConfigError("The page is from an earlier start of the explorer. Load it again and repeat what you did.")
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise DataError("Choose a file first.")
    with tempfile.TemporaryDirectory(prefix="mediarank-") as folder:
        path, digest = Path(folder) / "file", hashlib.sha256()
        with path.open("wb") as target:
            while chunk := await file.read(1 << 20):
                digest.update(chunk)
                target.write(chunk)
        name = Path(file.filename).name[:80]
        vectors = await run_in_threadpool(described, explorer.snapshot, name, path)
    key = FILES.keep(Query(name, digest.hexdigest(), vectors, inside=False))
    return RedirectResponse(link("/search", file=key), 303)


def described(snapshot: Snapshot, name: str, path: Path) -> tuple[Floats, ...]:
    """The vectors of a dropped file, within the limits of uploads."""
    from mediarank.asking.describe import Copying  # slow to import

    own = snapshot.workspace.copying()
    limits = replace(own.limits, **{key: min(value, vars(own.limits)[key]) for key, value in vars(UPLOADS).items()})
    workspace = Workspace(snapshot.workspace.data, lambda: Copying(own.frames, limits))
    return query_vectors(workspace, Asked(name, path=path), retrieval(snapshot).features)


def retrieval(snapshot: Snapshot) -> Model:
    model = snapshot.workspace.model("retrieval")
    if not isinstance(model, Model):
        raise DataError("The model of retrieval is of another kind; run `dvc repro`.")
    return model


def queries_of(snapshot: Snapshot, items: Sequence[str], file: str | None) -> list[Query]:
    live = LiveRanker(retrieval(snapshot))
    found = [Query(one, str(snapshot.row(one)["sha256"]), tuple(live.vectors(one)), inside=True) for one in items]
    return [*found, *([FILES.get(file)] if file else [])]


def teacher_of(snapshot: Snapshot, method: str | None) -> Teacher:
    """The ranker with all feedback of now."""
    mark = read_journal_mark(snapshot.root, feedback_folder)
    return _teacher(snapshot.workspace, snapshot.root, retrieval(snapshot).method(method), mark)


@lru_cache(maxsize=4)
def _teacher(workspace: Workspace, root: Path, method: str, mark: str) -> Teacher:
    return open_teacher(workspace, feedback_folder(root), root / ".mediarank/feedback", method)[0]


def ranked(teacher: Teacher, queries: Sequence[Query], yes: list[str], no: list[str]) -> list[Found]:
    """The best items for all queries together: the mean of their scores, after learning from the ticks."""
    live, own = teacher.live, {q.name for q in queries if q.inside}
    before = mean_scores(teacher, queries)
    after, ticked = before, bool(yes or no)
    if ticked:
        live.model.places([*yes, *no])  # refuses what is not in the collection
        learned = copy.copy(teacher)
        learned.events = [*teacher.events, *events_of(queries, yes, no, best(live, before, own), "query")]
        after = mean_scores(learned, queries)
    shown = best(live, after, own)
    places = live.model.places(shown)
    order = top(before, min(PLACES, len(before)))
    rank_before = {live.ids[k]: n for n, k in enumerate(order.tolist())}
    ticks = {**dict.fromkeys(no, "no"), **dict.fromkeys(yes, "yes")}
    why = reasons(live, queries[0].vectors, places)
    return [
        Found(
            item,
            float(after[places[n]]),
            ticks.get(item, ""),
            rank_before[item] - n if ticked and item in rank_before else None,
            why[n],
        )
        for n, item in enumerate(shown)
    ]


def mean_scores(teacher: Teacher, queries: Sequence[Query]) -> Doubles:
    """(items,) the mean over the queries."""
    return np.asarray(np.mean([teacher.scores(q.name, q.vectors, "", q.sha256) for q in queries], axis=0))


def best(live: LiveRanker, scores: Doubles, own: set[str]) -> list[str]:
    """The first items, without the queries themselves."""
    order = top(scores, min(COUNT + len(own), len(scores))).tolist()
    return [live.ids[k] for k in order if live.ids[k] not in own][:COUNT]


def events_of(
    queries: Sequence[Query], yes: Sequence[str], no: Sequence[str], shown: Sequence[str], scope: Scope
) -> list[Event]:
    """The ticks as feedback, one event per query. shown : the list that was ticked in"""
    found = []
    for query in queries:
        fits, rest = (tuple(i for i in part if not (query.inside and i == query.name)) for part in (yes, no))
        implied = () if rest or not fits else passed_over([i for i in shown if i != query.name], fits)
        vectors = () if query.inside else query.vectors
        if fits or rest:
            found.append(Event(query.name, fits, rest, implied, scope, sha256=query.sha256, vectors=vectors))
    if not found:
        raise DataError("Tick at least one result first. Nothing was written.")
    return found


def reasons(live: LiveRanker, vectors: Sequence[Floats], places: Any) -> list[str]:
    """The feature types that speak most for each hit, all hits at once."""
    model, weights = live.model, live.ranking_weights
    names = [LOOKS[name] if name in LEARNED_TYPES else name for name in model.phi_types]
    rows = [matrix[places] for matrix in model.phi_rows]
    phi = model.scaler.apply(phi_over_types(model.phi_vectors(vectors), rows))
    parts = (phi * weights[: phi.shape[1]]).reshape(len(places), len(names), len(SIMILARITIES)).sum(axis=2)
    parts, names = added_by_name(parts, names)
    order = np.argsort(-parts, axis=1, kind="stable")[:, :EXPLAINED]
    return [", ".join(f"{names[t]} {parts[n, t]:+.2f}" for t in order[n].tolist()) for n in range(len(parts))]


def added_by_name(parts: Floats, names: Sequence[str]) -> tuple[Floats, list[str]]:
    """Parts (hits, names) with those of one name added up, such as those of all types that were learned from classes.

    >>> added_by_name(np.array([[1.0, 2.0, 4.0]]), ["kind", "hog", "kind"])
    (array([[5., 2.]]), ['kind', 'hog'])
    """
    once = list(dict.fromkeys(names))
    columns = np.array([once.index(name) for name in names])
    return np.stack([parts[:, columns == k].sum(axis=1) for k in range(len(once))], axis=1), once
