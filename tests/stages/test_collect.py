"""Collecting: originals in shards, read once, never changed; unchanged shards are not written again."""

from __future__ import annotations

import configparser
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from mediarank import store
from mediarank.collections import described, file_facts
from mediarank.collections.demo.plan import DemoConfig
from mediarank.collections.sources import Collected, CollectionConfig
from mediarank.media.files import Slice, sha256_of
from mediarank.media.shards import Media
from mediarank.stages import collect as stage
from mediarank.stages.collect import run
from mediarank.types import DataError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    for name in ("sea/b.jpg", "sea/a.jpg", "wood/c.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
        (folder / name).chmod(0o640)
        os.utime(folder / name, (1e9, 1e9))
    return folder


def collected(source: Path, root: Path) -> Media:
    run(CollectionConfig("folder", str(source)), root / "data", root / "cache")
    return Media(root / "data/raw/media")


def test_originals_are_in_order_and_untouched(source: Path, tmp_path: Path) -> None:
    before = {path: path.stat() for path in source.rglob("*.jpg")}
    media = collected(source, tmp_path)
    assert list(media) == ["sea/a.jpg", "sea/b.jpg", "wood/c.jpg"]
    assert all(media[item].read_bytes().decode() == item == media.origin(item) for item in media)
    for path, state in before.items():
        now = path.stat()
        assert (now.st_mode, now.st_nlink, now.st_mtime_ns) == (state.st_mode, 1, state.st_mtime_ns)


def test_a_link_of_the_users_is_followed_to_its_end(source: Path, tmp_path: Path) -> None:
    (source / "wood/alias.jpg").symlink_to("c.jpg")
    assert collected(source, tmp_path)["wood/alias.jpg"].read_bytes() == b"wood/c.jpg"


def test_a_file_is_read_again_only_if_its_length_or_time_changed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(file: Path) -> str:
        read.append(file.name)
        return sha256_of(file)

    monkeypatch.setattr(stage, "sha256_of", counted)
    collected(source, tmp_path)
    assert read == ["a.jpg", "b.jpg", "c.jpg"]
    read.clear()
    assert list(collected(source, tmp_path)) == ["sea/a.jpg", "sea/b.jpg", "wood/c.jpg"]
    assert read == []
    (source / "sea/b.jpg").write_text("another")
    os.utime(source / "wood/c.jpg", (1e9, 1e9 + 1))
    media = collected(source, tmp_path)
    assert (sorted(read), media["sea/b.jpg"].read_bytes()) == (["b.jpg", "c.jpg"], b"another")
    read.clear()
    collected(source, tmp_path)
    assert read == ["b.jpg"], "a file that was changed a moment ago may change again within the same tick"


def test_a_picture_is_opened_for_its_keywords_only_if_it_changed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def counted(file: Path) -> bool:
        opened.append(file.name)
        return False

    monkeypatch.setattr(described, "may_describe", counted)
    collected(source, tmp_path)
    assert opened == ["a.jpg", "b.jpg", "c.jpg"]
    collected(source, tmp_path)
    assert len(opened) == 3
    os.utime(source / "sea/b.jpg", (1e9, 1e9 + 1))
    collected(source, tmp_path)
    assert opened[3:] == ["b.jpg"]


def test_a_picture_that_could_not_be_opened_is_opened_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making it readable changes neither its length nor its time."""
    opened: list[str] = []

    def refused(file: Path) -> bool:
        opened.append(file.name)
        raise PermissionError(errno.EACCES, "Permission denied", str(file))

    monkeypatch.setattr(described, "may_describe", refused)
    for _ in range(2):
        assert len(collected(source, tmp_path)) == 3
    assert opened == ["a.jpg", "b.jpg", "c.jpg"] * 2


def test_the_state_of_a_file_is_asked_for_once(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected(source, tmp_path)
    asked: list[str] = []
    plain = os.stat

    def counted(path: Any, *rest: Any, **settings: Any) -> os.stat_result:
        asked.append(str(path))
        return plain(path, *rest, **settings)

    monkeypatch.setattr(file_facts, "os", SimpleNamespace(stat=counted))
    collected(source, tmp_path)
    assert asked == [str(source / name) for name in ("sea/a.jpg", "sea/b.jpg", "wood/c.jpg")]


def changed_between_facts(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file change after its keywords were read and before its fingerprint is."""
    plain = stage.collect_from

    def late(*arguments: Any) -> Collected:
        found = plain(*arguments)
        (source / "sea/b.jpg").write_text("another picture")
        os.utime(source / "sea/b.jpg", (1e9, 1e9 + 1))
        return found

    monkeypatch.setattr(stage, "collect_from", late)


def test_a_new_file_that_changes_between_two_facts_is_collected_as_it_is_now(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patches:
        changed_between_facts(source, patches)
        assert collected(source, tmp_path)["sea/b.jpg"].read_bytes() == b"another picture"
    assert collected(source, tmp_path)["sea/b.jpg"].read_bytes() == b"another picture"


def test_a_known_file_that_changes_between_two_facts_is_never_stored_under_the_old_fingerprint(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected(source, tmp_path)
    with monkeypatch.context() as patches:
        changed_between_facts(source, patches)
        with pytest.raises(DataError, match=r"b\.jpg changed while it was read"):
            collected(source, tmp_path)
    assert collected(source, tmp_path)["sea/b.jpg"].read_bytes() == b"another picture"


@pytest.mark.parametrize("damage", ["content", "columns"])
def test_a_damaged_table_of_facts_costs_time_only(source: Path, tmp_path: Path, damage: str) -> None:
    collected(source, tmp_path)
    for name in ("fingerprints", "described"):
        table = tmp_path / f"cache/{name}.parquet"
        assert table.exists()
        if damage == "content":
            table.write_bytes(b"damaged")
        else:
            store.write_table(table, pd.DataFrame({"path": ["sea/a.jpg"]}))
    assert len(collected(source, tmp_path)) == 3


def test_a_finished_shard_is_linked(source: Path, tmp_path: Path) -> None:
    first = collected(source, tmp_path)["sea/a.jpg"]
    assert isinstance(first, Slice)
    kept = tmp_path / "kept.tar"
    first.shard.rename(kept)
    run(CollectionConfig("folder", str(source)), tmp_path / "data", tmp_path / "cache", {first.shard.name: kept}.get)
    assert first.shard.samefile(kept)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_what_can_not_be_read_is_reported(source: Path, tmp_path: Path) -> None:
    (source / "sea/a.jpg").chmod(0)
    assert list(collected(source, tmp_path)) == ["sea/b.jpg", "wood/c.jpg"]
    assert "chmod" in store.read_csv(tmp_path / "data/raw/skipped.csv", ("reason",))["reason"].iloc[-1]


def test_the_demo_is_drawn_and_packed(tmp_path: Path) -> None:
    demo = DemoConfig(images=10, clips=4, damaged=False)
    run(CollectionConfig("demo", demo=demo), tmp_path / "data", tmp_path / "cache")
    media = Media(tmp_path / "data/raw/media")
    assert len(media) >= 10
    assert {media.origin(item) for item in media} == {""}
    assert {path.suffix for path in (tmp_path / "data/raw/media").iterdir()} == {".tar", ".parquet"}
    assert sorted(path.name for path in (tmp_path / "data/raw").iterdir()) == ["labels", "media", "skipped.csv"]


def test_dvc_takes_outputs_into_its_cache_without_a_copy() -> None:
    """With hardlink first, a shard in data/raw and in the cache is one file."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".dvc/config")
    assert config["cache"]["type"].strip('"').split(",")[0] == "hardlink"


def test_no_original_is_linked(source: Path, tmp_path: Path) -> None:
    """DVC makes what it links read-only: nothing in data/raw may share an inode with, or lead to, a user's file."""
    collected(source, tmp_path)
    own = {path.stat().st_ino for path in source.rglob("*.jpg")}
    made = [path for path in (tmp_path / "data/raw").rglob("*") if path.is_file()]
    assert made
    assert not any(path.is_symlink() or path.stat().st_ino in own for path in made)
