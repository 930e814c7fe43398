"""Search by example, and feedback that changes the next search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank import store
from mediarank.cli.app import CACHE, DATA, app

if TYPE_CHECKING:
    from mediarank.systems.retrieval.live import LiveRanker
    from mediarank.types import Floats

FEEDBACK = Path(".mediarank/feedback")
SHORTLIST = Path(".mediarank/shortlist")
EXPLAINED = 3
"""Hits whose reasons are given."""

Image = Annotated[str, typer.Argument(help="an item of the collection, or a picture's file")]
Method = Annotated[str | None, typer.Option(help="a linear method; by default the one that validated best")]


@app.command()
def search(
    image: Image,
    count: Annotated[int, typer.Option(min=1, help="how many items to show")] = 20,
    explain: Annotated[bool, typer.Option("--explain", help="say which features and similarities decided")] = False,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="look only where the nearest are likely; for very large collections")
    ] = False,
    method: Method = None,
    to: Annotated[Path, typer.Option(help="where to write the page of thumbnails")] = Path("search.html"),
) -> None:
    """Show what looks like an image, and write a page of thumbnails."""
    from mediarank import config
    from mediarank.asking.search import hits_page, open_live
    from mediarank.asking.shortlists import open_shortlist
    from mediarank.media.looking import look
    from mediarank.stages.report import small_jpeg, thumbnails

    params = config.load()
    live, _, gone = open_live(DATA, FEEDBACK, method)
    if gone:
        print(f"{gone} pieces of feedback named items that are gone, and were left out")
    vectors, known = _describe(image, live)
    short = open_shortlist(live, Path(), SHORTLIST, print) if shortlist else None
    hits = live.search(vectors, count, leave_out=image if known else None, shortlist=short)
    for rank, hit in enumerate(hits, start=1):
        print(f"{rank:>4}  {hit.score:8.3f}  {DATA / 'raw/media' / hit.item}")
    reasons = {hit.item: live.explain(vectors, hit.item) for hit in hits[:EXPLAINED]} if explain else {}
    for item, table in reasons.items():
        print(f"\nWhy {item}")
        for feature, similarity, value, _, contribution in table.head(6).itertuples(index=False):
            print(f"  {contribution:+8.3f}  {feature}/{similarity}, {value:.1f} deviations above two items on average")
    side = params.report.thumbnail_side
    thumbnail = thumbnails(store.read_table(DATA / "frames/frames.parquet"), DATA / "frames/media", side)
    if known:
        picture = thumbnail(image)
    else:
        picture = small_jpeg(look(Path(image), params.frames, params.manifest.limits)[0], side)
    store.write_text(to, hits_page(image, picture, hits, thumbnail, reasons))
    print(f"Page: {to}")


@app.command()
def feedback(
    image: Image,
    relevant: Annotated[list[str], typer.Option(help="an item that fits; may be given several times")],
    irrelevant: Annotated[list[str], typer.Option(help="an item that does not; may be given several times")],
    method: Method = None,
) -> None:
    """Say which items fit an image and which don't. It is learned at once, for good."""
    from mediarank.asking.search import open_live
    from mediarank.systems.retrieval.live import Feedback

    live, kept, _ = open_live(DATA, FEEDBACK, method)
    vectors, known = _describe(image, live)
    kept.record(live, Feedback(image, _items(relevant), _items(irrelevant), () if known else vectors))
    print(f"learned: {len(relevant)} relevant, {len(irrelevant)} irrelevant; {len(kept.events())} pieces in {FEEDBACK}")


def _describe(image: str, live: LiveRanker) -> tuple[tuple[Floats, ...], bool]:
    """The image's vectors, and whether it is an item of the collection."""
    from mediarank import config
    from mediarank.asking.search import vectors_of, with_codebooks
    from mediarank.features.cache import FeatureCache

    if image in live.matrices[0]:
        return tuple(live.vectors(image)), True
    params = config.load()
    families = {name: params.feature_type(name) for name in live.features}
    ready = with_codebooks(families, DATA, FeatureCache(CACHE / "features")) if Path(image).is_file() else {}
    return vectors_of(image, live, ready, params.frames, params.manifest.limits)


def _items(named: list[str]) -> tuple[str, ...]:
    """Items by id, also where a path below data/raw/media was copied from a search."""
    return tuple(item.removeprefix(f"{(DATA / 'raw/media').as_posix()}/") for item in named)
