"""Search by example: from one item, several, or a file that was dropped; ✓ and ✕ rank again at once.

What was ticked is part of the address, so every state is a link. Ticks teach this search alone until they are kept.
"""

from __future__ import annotations

import secrets
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from fastapi import APIRouter, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from mediarank.asking.items import Asked
from mediarank.asking.search import query_vectors
from mediarank.explorer.app import Explorer, explorer_of, link
from mediarank.explorer.doors import TOKEN_FIELD
from mediarank.similarity.nearest import top
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import ConfigError, DataError, Floats

router = APIRouter()
COUNT: Final = 48
UPLOAD_BYTES: Final = 64 * 1024**2
KEPT_FILES: Final = 32
EXPLAINED: Final = 3
"""Parts of a reason that are shown."""


@dataclass
class Files:
    """The vectors of files that were dropped, newest last; the files themselves are not kept."""

    known: OrderedDict[str, tuple[str, tuple[Floats, ...]]] = field(default_factory=OrderedDict)

    def keep(self, name: str, vectors: tuple[Floats, ...]) -> str:
        key = secrets.token_urlsafe(9)
        self.known[key] = (name, vectors)
        while len(self.known) > KEPT_FILES:
            self.known.popitem(last=False)
        return key


FILES = Files()


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
    given = request.query_params
    items, yes, no = given.getlist("item"), given.getlist("yes"), given.getlist("no")
    file, method = given.get("file"), given.get("method") or None
    if not items and not file:
        return explorer.page(
            "search.html", "/search", hits=[], items=[], file=None, yes=[], no=[], model=None, method=""
        )
    model = retrieval(explorer)
    queries = [(item, tuple(LiveRanker(model).vectors(item))) for item in items]
    name = None
    if file:
        if file not in FILES.known:
            raise DataError("The dropped file is no longer kept; drop it again.")
        name, vectors = FILES.known[file]
        queries.append((name, vectors))
    hits = ranked(model, method, queries, yes, no)
    return explorer.page(
        "search.html",
        "/search",
        hits=hits,
        items=items,
        file=file,
        file_name=name,
        yes=yes,
        no=no,
        model=model,
        method=model.method(method),
        state=[*(("item", one) for one in items), *([("file", file)] if file else []),
               *(("yes", one) for one in yes), *(("no", one) for one in no),
               *([("method", method)] if method else [])],
    )  # fmt: skip


@router.post("/search/file")
async def drop(request: Request, file: UploadFile) -> Response:
    """Describe a dropped file in a guarded process, and search with its vectors."""
    explorer = explorer_of(request)
    form = await request.form()
    if not explorer.doors.has_page_token(form.get(TOKEN_FIELD)):
        raise ConfigError("The page is from an earlier start of the explorer. Load it again and repeat what you did.")
    model = retrieval(explorer)
    with tempfile.TemporaryDirectory(prefix="mediarank-") as folder:
        path = Path(folder) / "file"
        size = 0
        with path.open("wb") as target:
            while chunk := await file.read(1 << 20):
                size += len(chunk)
                if size > UPLOAD_BYTES:
                    raise DataError(f"Files of up to {UPLOAD_BYTES // 1024**2} MB can be dropped.")
                target.write(chunk)
        name = Path(file.filename or "a file").name[:80]
        vectors = query_vectors(explorer.snapshot.workspace, Asked(name, path=path), model.features)
    return RedirectResponse(link("/search", file=FILES.keep(name, vectors)), 303)


def retrieval(explorer: Explorer) -> Model:
    model = explorer.snapshot.workspace.model("retrieval")
    if not isinstance(model, Model):
        raise DataError("The model of retrieval is of another kind; run `dvc repro`.")
    return model


def ranked(
    model: Model,
    method: str | None,
    queries: list[tuple[str, tuple[Floats, ...]]],
    yes: list[str],
    no: list[str],
) -> list[Found]:
    """The best items for all queries together: the mean of their scores, after learning from the ticks."""
    live = LiveRanker(model, method)
    before = np.mean([live.scores(vectors) for _, vectors in queries], axis=0)
    own = {name for name, _ in queries}
    if yes or no:
        place = {item: k for k, item in enumerate(live.ids)}
        unknown = [item for item in (*yes, *no) if item not in place]
        if unknown:
            raise DataError(f"{unknown[0]} is not an item of this version of the collection.")
        for name, vectors in queries:
            good, bad = yes or stand_ins(live, before, {*own, *no}, best=True), no
            bad = bad or stand_ins(live, before, {*own, *yes}, best=False)
            fits = tuple(item for item in good if item != name)
            if fits:
                live.learn(Feedback(name, fits, tuple(item for item in bad if item != name), vectors))
        after = np.mean([live.scores(vectors) for _, vectors in queries], axis=0)
    else:
        after = before
    rank_before = {live.ids[k]: n for n, k in enumerate(np.argsort(-before, kind="stable")[:2000].tolist())}
    best = [live.ids[k] for k in top(after, COUNT + len(own)).tolist() if live.ids[k] not in own][:COUNT]
    scores = {item: float(after[k]) for k in top(after, COUNT + len(own)).tolist() if (item := live.ids[k])}
    ticks = {**dict.fromkeys(no, "no"), **dict.fromkeys(yes, "yes")}
    moved = bool(yes or no)
    return [
        Found(
            item,
            scores[item],
            ticks.get(item, ""),
            rank_before[item] - n if moved and item in rank_before else None,
            reason(live, queries[0][1], item),
        )
        for n, item in enumerate(best)
    ]


def stand_ins(live: LiveRanker, scores: Floats, without: set[str], best: bool) -> list[str]:
    """What stands in for ticks of the other kind: the first hits, or items far down the list."""
    order = np.argsort(-scores if best else scores, kind="stable")[:60]
    return [live.ids[k] for k in order.tolist() if live.ids[k] not in without][:3]


def reason(live: LiveRanker, vectors: tuple[Floats, ...], item: str) -> str:
    """The feature types that speak most for an item."""
    table = live.explain(vectors, item)
    by_type = table.groupby("feature")["contribution"].sum().sort_values(ascending=False)
    return ", ".join(f"{name} {value:+.2f}" for name, value in by_type.head(EXPLAINED).items())
