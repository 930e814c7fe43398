"""Search and feedback over what the stages wrote."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mediarank import store
from mediarank.asking.search import hits_page, open_live, vectors_of, with_codebooks
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_moments import ColourMoments
from mediarank.features.matrix import build
from mediarank.features.mfcc import MfccStatistics
from mediarank.features.sift import Sift
from mediarank.media.frames import FramesConfig
from mediarank.media.limits import Limits
from mediarank.media.working import read_picture
from mediarank.systems.retrieval.live import Feedback
from mediarank.types import DataError, Roles

FAMILY = ColourMoments()


def test_feedback_outlives_the_session_and_the_next_search_uses_it(project: Path) -> None:
    live, kept, gone = open_live(project / "data", project / "feedback")
    before = live.ranking_weights
    kept.record(live, Feedback("images/00.png", ("images/07.png",), ("images/03.png",)))
    again, _, _ = open_live(project / "data", project / "feedback")
    assert gone == 0
    assert not np.array_equal(before, again.ranking_weights)
    assert np.array_equal(live.ranking_weights, again.ranking_weights)


def test_a_file_is_described_like_an_item(project: Path) -> None:
    live, _, _ = open_live(project / "data", project / "feedback")
    families = {"moments": FAMILY}
    inside, known = vectors_of("images/05.png", live, families, FramesConfig(), Limits())
    outside, stranger = vectors_of(str(project / "images/05.png"), live, families, FramesConfig(), Limits())
    assert known
    assert not stranger
    assert np.array_equal(inside[0], outside[0])
    assert live.search(outside, 1)[0].item == "images/05.png"
    with pytest.raises(DataError, match="neither an item of the collection nor a file"):
        vectors_of("images/5.png", live, families, FramesConfig(), Limits())
    with pytest.raises(DataError, match="describes a sound"):
        vectors_of(str(project / "images/05.png"), live, {"moments": MfccStatistics()}, FramesConfig(), Limits())


def test_local_families_get_the_codebook_of_the_pipeline(project: Path) -> None:
    """What the pipeline's matrix says of a picture is what its file gives from outside."""
    data, local = project / "data", Sift(words=8, patches=(16,))
    ids = [f"images/{k:02d}.png" for k in range(24)]
    frames = pd.DataFrame({"frame_id": ids, "item_id": ids, "kind": "image", "index": 0, "path": ids, "sha256": ids})
    frames["sha256"] = [hashlib.sha256((project / name).read_bytes()).hexdigest() for name in ids]
    roles = Roles(pd.DataFrame({"item_id": ids, "group_id": ids, "role": "base", "fold": 0}))
    sounds = pd.DataFrame({"item_id": pd.Series(dtype=str), "path": "", "seconds": 0.0, "sha256": ""})
    for name in ids:
        (data / "frames/media/images").mkdir(parents=True, exist_ok=True)
        (data / "frames/media" / name).write_bytes((project / name).read_bytes())
    store.write_table(data / "frames/frames.parquet", frames)
    store.write_table(data / "frames/sounds.parquet", sounds)
    store.write_roles(data / "splits/roles.parquet", roles)
    matrix = build(local, frames, sounds, data / "frames/media", roles)
    ready = with_codebooks({"sift": local}, data, FeatureCache(project / "cache"))
    assert np.array_equal(
        ready["sift"].extract(read_picture(project / "images/05.png")), matrix.rows(["images/05.png"])[0]
    )


def test_the_page_shows_hits_ids_and_reasons(project: Path) -> None:
    live, _, _ = open_live(project / "data", project / "feedback", "uni_con")
    vectors = live.vectors("images/00.png")
    hits = live.search(vectors, 3, leave_out="images/00.png")
    page = hits_page(
        "<images/00.png>", None, hits, lambda item: None, {hits[0].item: live.explain(vectors, hits[0].item)}
    )
    assert all(hit.item in page for hit in hits)
    assert f"Why {hits[0].item}" in page
    assert "<images/00.png>" not in page, "what comes from outside is escaped"
