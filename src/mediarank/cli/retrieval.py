"""Search by example, and feedback that changes the next search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import app
from mediarank.cli.feedback import FEEDBACK, SNAPSHOTS, content_hash, session_name
from mediarank.cli.json_output import Json, print_json
from mediarank.cli.opened import Example, Method, asked, copying, own_names, thumbnails, workspace, write_page

SHORTLIST = Path(".mediarank/shortlist")
EXPLAINED = 3
"""How many hits are explained."""


@app.command()
def search(
    image: Example,
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
    explain: Annotated[bool, typer.Option("--explain", help="say in words why the first were found")] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="with --explain, also print the parts of the scores")
    ] = False,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="search an index instead of every item; for very large collections")
    ] = False,
    method: Method = None,
    to: Annotated[Path, typer.Option(help="where to write the page of thumbnails")] = Path("search.html"),
    json: Json = False,
) -> None:
    """Show what looks like an image, and write a page of thumbnails."""
    from mediarank import config
    from mediarank.asking.explaining import in_words
    from mediarank.asking.search import hits_page, query_vectors
    from mediarank.asking.shortlists import open_shortlist
    from mediarank.ops.versions.lockfile import read_lock
    from mediarank.teaching.taught_ranker import open_teacher

    space = workspace()
    teacher, _, damaged = open_teacher(space, FEEDBACK, SNAPSHOTS, method)
    live = teacher.live
    if not json and (teacher.left_out or damaged):
        print(
            f"{teacher.left_out + len(damaged)} pieces of feedback can't be used; `mediarank feedback list` says why."
        )
    if live.model.warning and not json:
        print(f"Note: {live.model.warning}")
    (query,) = asked(space, [image])
    vectors = query_vectors(space, query, live.features)
    short = None
    if shortlist:
        versions = {Path(out).name: hash_ for out, hash_ in read_lock(Path()).outs("data/features").items()}
        short = open_shortlist(live, versions, SHORTLIST, print)
        teacher.prepare(query.item or image, session_name(), content_hash(space, query))
    named, sha256 = query.item or image, content_hash(space, query)
    if short is None:
        hits = teacher.search(named, vectors, count, session_name(), sha256, known=query.item is not None)
    else:
        hits = live.search(vectors, count, leave_out=query.item, shortlist=short)
    if json:
        print_json({"query": named, "method": live.method, "hits": hits})
        return
    own = own_names(space)
    for rank, hit in enumerate(hits, start=1):
        print(f"{rank:>4}  {hit.score:8.3f}  {own(hit.item)}")
    print(f"By {live.method} of retrieval.")
    reasons = {hit.item: live.explain(vectors, hit.item) for hit in hits[:EXPLAINED]} if explain else {}
    families = config.load().families if explain else {}
    for item, table in reasons.items():
        print(f"\nWhy {item}: {in_words(table, families)}")
        for feature, similarity, value, _, contribution in table.head(6 if numbers else 0).itertuples(index=False):
            print(f"  {contribution:+8.3f}  {feature}/{similarity}, {value:.1f} deviations above two items on average")
    thumbnail = thumbnails(space)
    picture = thumbnail(query.item) if query.item else _outside(query.path)
    write_page(to, hits_page(image, picture, hits, thumbnail, reasons, families))


def _outside(path: Path | None) -> bytes | None:
    """A small picture of a file outside the collection, as the pipeline sees it."""
    from mediarank import config
    from mediarank.asking.describe import look
    from mediarank.media.thumbnails import small_jpeg

    picture = None if path is None else look(path, copying())[0]
    return None if picture is None else small_jpeg(picture, config.load().report.thumbnail_side)
