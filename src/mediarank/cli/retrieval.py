"""Search by example, and feedback that changes the next search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import DATA, app
from mediarank.cli.opened import Example, Method, asked, copying, thumbnails, workspace, write_page

FEEDBACK = Path(".mediarank/feedback")
SHORTLIST = Path(".mediarank/shortlist")
EXPLAINED = 3
"""Hits whose reasons are given."""


@app.command()
def search(
    image: Example,
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
    explain: Annotated[bool, typer.Option("--explain", help="say which features and similarities decided")] = False,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="look only where the nearest are likely; for very large collections")
    ] = False,
    method: Method = None,
    to: Annotated[Path, typer.Option(help="where to write the page of thumbnails")] = Path("search.html"),
) -> None:
    """Show what looks like an image, and write a page of thumbnails."""
    from mediarank.asking.search import hits_page, query_vectors
    from mediarank.asking.shortlists import open_shortlist
    from mediarank.ops.versions.lockfile import read_lock
    from mediarank.teaching.feedback import open_live

    space = workspace()
    live, _, gone = open_live(space, FEEDBACK, method)
    if gone:
        print(f"{gone} pieces of feedback name items that are gone; they were left out.")
    if live.model.warning:
        print(f"Note: {live.model.warning}")
    (query,) = asked(space, [image])
    vectors = query_vectors(space, query, live.features)
    short = None
    if shortlist:
        versions = {Path(out).name: hash_ for out, hash_ in read_lock(Path()).outs("data/features").items()}
        short = open_shortlist(live, versions, SHORTLIST, print)
    hits = live.search(vectors, count, leave_out=query.item, shortlist=short)
    for rank, hit in enumerate(hits, start=1):
        print(f"{rank:>4}  {hit.score:8.3f}  {DATA / 'raw/media' / hit.item}")
    print(f"By {live.method} of retrieval.")
    reasons = {hit.item: live.explain(vectors, hit.item) for hit in hits[:EXPLAINED]} if explain else {}
    for item, table in reasons.items():
        print(f"\nWhy {item}")
        for feature, similarity, value, _, contribution in table.head(6).itertuples(index=False):
            print(f"  {contribution:+8.3f}  {feature}/{similarity}, {value:.1f} deviations above two items on average")
    thumbnail = thumbnails(space)
    picture = thumbnail(query.item) if query.item else _outside(query.path)
    write_page(to, hits_page(image, picture, hits, thumbnail, reasons))


@app.command()
def feedback(
    image: Example,
    relevant: Annotated[list[str], typer.Option(help="an item that fits; may be given several times")],
    irrelevant: Annotated[list[str], typer.Option(help="an item that does not; may be given several times")],
    method: Method = None,
) -> None:
    """Say which items fit an image and which don't. It is learned at once, for good."""
    from mediarank.asking.search import query_vectors
    from mediarank.systems.retrieval.live import Feedback
    from mediarank.teaching.feedback import open_live

    space = workspace()
    live, kept, _ = open_live(space, FEEDBACK, method)
    query, *others = asked(space, [image, *relevant, *irrelevant])
    vectors = () if query.item else query_vectors(space, query, live.features)
    fits, other = (tuple(one.id for one in part) for part in (others[: len(relevant)], others[len(relevant) :]))
    kept.record(live, Feedback(query.item or image, fits, other, vectors))
    print(f"learned: {len(relevant)} relevant, {len(irrelevant)} irrelevant; {len(kept.events())} pieces in {FEEDBACK}")


def _outside(path: Path | None) -> bytes | None:
    """A small picture of a file from outside, as the pipeline sees it."""
    from mediarank import config
    from mediarank.asking.describe import look
    from mediarank.media.thumbnails import small_jpeg

    picture = None if path is None else look(path, copying())[0]
    return None if picture is None else small_jpeg(picture, config.load().report.thumbnail_side)
