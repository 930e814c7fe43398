"""Working copies: made once, cached by content, and a damaged cache loses nothing."""

from __future__ import annotations

import errno
import hashlib
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np
import pytest

from mediarank.labels import Labels
from mediarank.media import copy_cache as remembered
from mediarank.media.copy_cache import Job, prune, working_copies
from mediarank.media.frames import FramesConfig
from mediarank.media.guard import guarded_map
from mediarank.media.limits import Limits
from mediarank.stages.frames import Frames, build_frames
from mediarank.stages.manifest import ManifestConfig, build_manifest
from mediarank.types import CheckFailed, DataError, MachineFault, Manifest

CONFIG, LIMITS = FramesConfig(max_side=64), Limits()


@pytest.fixture
def media(tmp_path: Path) -> Path:
    folder = tmp_path / "media"
    folder.mkdir()
    for k in range(4):
        cv2.imwrite(str(folder / f"{k}.png"), np.random.default_rng(k).integers(0, 255, (90, 120, 3), dtype=np.uint8))
    whole = (folder / "0.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    return folder


def manifest_of(media: Path) -> Manifest:
    return build_manifest(media, Labels({}), ManifestConfig())[0]


def run(media: Path, target: Path, cache: Path) -> Frames:
    return build_frames(manifest_of(media), media, target, CONFIG, LIMITS, cache)


def digest(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_copies_are_small_and_what_fails_joins_the_quarantine(media: Path, tmp_path: Path) -> None:
    made = run(media, tmp_path / "frames", tmp_path / "cache")
    assert list(made.frames["item_id"]) == ["0.png", "1.png", "2.png", "3.png"]
    assert made.frames[["width", "height"]].max().tolist() == [64, 48]
    assert list(made.failures) == ["cut.png"]
    _, _, quarantine = build_manifest(media, Labels({}), ManifestConfig())
    assert list(made.added_to(quarantine)["item_id"]) == ["cut.png"]


def test_the_cache_changes_no_byte(media: Path, tmp_path: Path) -> None:
    first = run(media, tmp_path / "one", tmp_path / "cache")
    second = run(media, tmp_path / "two", tmp_path / "cache")
    fresh = run(media, tmp_path / "three", tmp_path / "other")
    assert digest(tmp_path / "one") == digest(tmp_path / "two") == digest(tmp_path / "three")
    assert first.frames.equals(second.frames)
    assert first.frames.equals(fresh.frames)


def test_one_process_or_two(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for jobs in ("1", "2"):
        monkeypatch.setenv("MEDIARANK_JOBS", jobs)
        run(media, tmp_path / jobs, tmp_path / f"cache{jobs}")
    assert digest(tmp_path / "1") == digest(tmp_path / "2")


def job(media: Path, name: str) -> Job:
    return Job(name, media / name, "image", hashlib.sha256((media / name).read_bytes()).hexdigest())


def test_what_is_remembered_is_not_decoded_again(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    working_copies(job(media, "1.png"), tmp_path / "one", CONFIG, LIMITS, tmp_path / "cache")

    def refuse(*_: object) -> None:
        raise AssertionError("decoded twice")

    monkeypatch.setattr(remembered, "make_working_copies", refuse)
    working_copies(job(media, "1.png"), tmp_path / "two", CONFIG, LIMITS, tmp_path / "cache")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    with pytest.raises(AssertionError, match="decoded twice"):
        working_copies(job(media, "1.png"), tmp_path / "x", FramesConfig(max_side=32), LIMITS, tmp_path / "cache")


def test_ten_more_images_decode_ten_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process and a plain loop, so that decodes can be counted; the cache is what is looked at."""
    folder, decoded = tmp_path / "media", []
    folder.mkdir()

    def add(first: int, count: int) -> None:
        for k in range(first, first + count):
            pixels = np.random.default_rng(k).integers(0, 255, (8, 8, 3), dtype=np.uint8)
            cv2.imwrite(str(folder / f"{k:04d}.png"), pixels)

    make = remembered.make_working_copies

    def counted(item: str, *rest: Any) -> Any:
        decoded.append(item)
        return make(item, *rest)

    monkeypatch.setattr(remembered, "make_working_copies", counted)
    add(0, 100)
    for path in sorted(folder.iterdir()):
        working_copies(job(folder, path.name), tmp_path / "one", CONFIG, LIMITS, tmp_path / "cache")
    assert len(decoded) == 100
    decoded.clear()
    add(100, 10)
    for path in sorted(folder.iterdir()):
        working_copies(job(folder, path.name), tmp_path / "two", CONFIG, LIMITS, tmp_path / "cache")
    assert decoded == [f"{k:04d}.png" for k in range(100, 110)]


def test_a_damaged_entry_is_made_again(media: Path, tmp_path: Path) -> None:
    working_copies(job(media, "2.png"), tmp_path / "one", CONFIG, LIMITS, tmp_path / "cache")
    (entry,) = (p for p in (tmp_path / "cache").rglob("*.jpg"))
    entry.unlink()
    entry.write_bytes(b"garbage")
    working_copies(job(media, "2.png"), tmp_path / "two", CONFIG, LIMITS, tmp_path / "cache")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_pruning_keeps_what_was_used_last(media: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for k, name in enumerate(("0.png", "1.png", "2.png", "0.png")):
        working_copies(job(media, name), tmp_path / str(k), CONFIG, LIMITS, cache)
    newest = max(p.stat().st_size for p in cache.rglob("*.jpg"))
    assert prune(cache, limit=10 * newest) == 0
    assert prune(cache, limit=2 * newest) == 2
    (left,) = cache.rglob("*.jpg")
    assert left.name == "0.png.jpg"


def test_nothing_decodes(tmp_path: Path, media: Path) -> None:
    for path in media.glob("?.png"):
        path.unlink()
    with pytest.raises(DataError, match="None of 1 items could be decoded"):
        run(media, tmp_path / "frames", tmp_path / "cache")


def test_too_many_failures_stop_the_run(media: Path, tmp_path: Path) -> None:
    made = run(media, tmp_path / "frames", tmp_path / "cache")
    made.require_few_failures(FramesConfig(max_failed_share=0.2), 5)
    with pytest.raises(CheckFailed, match=r"1 of 5 items.*max_failed_share.*cut\.png"):
        made.require_few_failures(FramesConfig(max_failed_share=0.1), 5)


def test_a_cache_that_can_not_be_written_to_is_not_used(media: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with_cache = run(media, tmp_path / "one", tmp_path / "cache")
    without = run(media, tmp_path / "two", tmp_path / "file/cache")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    assert with_cache.frames.equals(without.frames)


def full_disk(*_: object) -> bytes:
    raise OSError(errno.ENOSPC, "No space left on device", "data/frames/media/0.png.jpg")


def copies_on_a_full_disk(job: Job, target: Path, cache: Path) -> object:
    """In a child: no file can be written, neither to the cache nor to the target."""
    with mock.patch.object(Path, "write_bytes", full_disk):
        return working_copies(job, target, CONFIG, LIMITS, cache)


def test_a_full_disk_quarantines_nothing(media: Path, tmp_path: Path) -> None:
    jobs = [job(media, f"{k}.png") for k in range(4)]
    work = partial(copies_on_a_full_disk, target=tmp_path / "frames", cache=tmp_path / "cache")
    with pytest.raises(MachineFault, match=r"No space left.*free disk space.*No file was quarantined"):
        guarded_map(work, jobs, "frames", 60)


@pytest.mark.parametrize("place", range(0, 600, 23))
def test_no_flipped_bit_in_the_list_of_an_entry_is_trusted(media: Path, tmp_path: Path, place: int) -> None:
    first = working_copies(job(media, "1.png"), tmp_path / "one", CONFIG, LIMITS, tmp_path / "cache")
    (rows,) = (tmp_path / "cache").rglob(remembered.ROWS)
    content = bytearray(rows.read_bytes())
    content[place % len(content)] ^= 1 << place % 8
    rows.write_bytes(content)
    second = working_copies(job(media, "1.png"), tmp_path / "two", CONFIG, LIMITS, tmp_path / "cache")
    assert first == second
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
