"""Shards: every file comes back, what is unchanged stays the same file, and any program can unpack them."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from mediarank.media.files import Held, Slice, _Shard, undamaged
from mediarank.media.shards import INDEX, Cuts, Media, ShardWriter, _header, listed
from mediarank.types import DataError, MachineFault

SMALL = Cuts(least=4_000, mean=12_000, most=48_000)


def contents(count: int, folder: str = "a", seed: int = 0) -> dict[str, bytes]:
    rng = np.random.default_rng(seed)
    return {f"{folder}/{k:04d}.bin": rng.bytes(int(rng.integers(1, 2_000))) for k in range(count)}


def pack(target: Path, files: dict[str, bytes], finished: dict[str, Path] | None = None, cuts: Cuts = SMALL) -> Media:
    with ShardWriter(target, cuts, (finished or {}).get) as shards:
        for path in sorted(files):
            content = files[path]
            shards.add(path, Held(path, content), len(content), hashlib.sha256(content).hexdigest(), origin=path)
    return Media(target)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {INDEX}


def test_every_file_comes_back_whole_and_in_parts(tmp_path: Path) -> None:
    files = contents(200) | {"empty.bin": b"", "ünicode " + "long" * 60 + ".bin": b"x" * 700}
    media = pack(tmp_path, files)
    assert {path: media[path].read_bytes() for path in media} == files
    assert len(media) == len(files)
    assert len(names(tmp_path)) > 4
    path, content = max(files.items(), key=lambda pair: len(pair[1]))
    with media[path].open() as file:
        assert file.read(7) == content[:7]
        file.seek(-5, io.SEEK_END)
        assert (file.tell(), file.read(100)) == (len(content) - 5, content[-5:])
        file.seek(3)
        assert file.read() == content[3:]


def test_any_program_can_unpack_them(tmp_path: Path) -> None:
    files = contents(30) | {"é" * 70 + ".bin": b"named in two bytes"}
    pack(tmp_path, files)
    found = {}
    for shard in names(tmp_path):
        with tarfile.open(tmp_path / shard) as archive:
            found |= {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    assert found == files


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack(tmp_path / name, contents(100))
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


def test_a_new_folder_leaves_other_shards_alone(tmp_path: Path) -> None:
    """New items change the shards at their two ends; all others are the same files, under the same names."""
    before = contents(600, "a") | contents(600, "c", 1)
    pack(tmp_path / "before", before)
    pack(tmp_path / "after", before | contents(300, "b", 2))
    old, new = names(tmp_path / "before"), names(tmp_path / "after")
    assert len(old) > 20
    assert len(old - new) <= 4
    for name in old & new:
        assert (tmp_path / "before" / name).read_bytes() == (tmp_path / "after" / name).read_bytes()


def test_a_shard_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    files = contents(300)
    pack(tmp_path / "one", files)
    kept = {path.name: path for path in (tmp_path / "one").iterdir()}
    pack(tmp_path / "two", files | contents(5, "z", 3), finished=kept)
    same = names(tmp_path / "one") & names(tmp_path / "two")
    assert len(same) > 5
    assert all((tmp_path / "two" / name).samefile(kept[name]) for name in same)
    cut = next(iter(same))
    kept[cut].write_bytes(kept[cut].read_bytes()[:-600])
    media = pack(tmp_path / "three", files, finished=kept)
    assert {path: media[path].read_bytes() for path in media} == files, "one of another length is not trusted"


def test_sizes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    files = {f"{k:03d}": rng.bytes(900) for k in range(200)} | {"050b": b"large" * 9_000}
    media = pack(tmp_path, files)
    sizes = [(tmp_path / name).stat().st_size for name in names(tmp_path)]
    large = media["050b"]
    assert isinstance(large, Slice)
    assert [path for path in media if isinstance(f := media[path], Slice) and f.shard == large.shard] == ["050b"]
    assert max(sizes) < SMALL.most + 2_000
    assert np.mean(sizes) == pytest.approx(SMALL.least + SMALL.mean, rel=0.8)


def test_damage_is_named(tmp_path: Path) -> None:
    media = pack(tmp_path, contents(50))
    file = media["a/0020.bin"]
    assert isinstance(file, Slice)
    whole = file.shard.read_bytes()
    flipped = bytearray(whole)
    flipped[file.offset] ^= 1
    for damaged in (whole[: file.offset + 1], bytes(flipped), b""):
        file.shard.write_bytes(damaged)
        for read in (file.read_bytes, file.check):
            with pytest.raises(MachineFault, match=rf"{file.shard.name} is damaged where it holds a/0020.bin.*verify"):
                read()
    file.shard.unlink()
    with pytest.raises(MachineFault, match=r"is damaged where it holds a/0020.bin"):
        file.open()
    index = bytearray((tmp_path / INDEX).read_bytes())
    index[len(index) // 2] ^= 4
    (tmp_path / INDEX).write_bytes(index)
    with pytest.raises(DataError, match=r"index.parquet can't be read"):
        Media(tmp_path)


def test_many_are_compared_and_damage_costs_its_own_items(tmp_path: Path) -> None:
    media = pack(tmp_path, contents(50))
    files = [media[path] for path in media]
    shards = sorted({file.shard for file in files if isinstance(file, Slice)})
    assert len(shards) > 3
    assert list(undamaged([*files, Held("a", b"a"), tmp_path])) == [True] * 50 + [False] * 2
    first = next(file for file in files if isinstance(file, Slice) and file.shard == shards[1])
    flipped = bytearray(first.shard.read_bytes())
    flipped[first.offset] ^= 1
    first.shard.write_bytes(flipped)
    shards[0].unlink()
    shards[2].write_bytes(b"")
    shaken = [files[k] for k in np.random.default_rng(0).permutation(50)]  # from shard to shard and back
    for file, intact in zip(shaken, undamaged(shaken), strict=True):
        assert isinstance(file, Slice)
        assert intact == (file.shard not in (shards[0], shards[2]) and file != first)


@pytest.mark.parametrize("order", [1, -1])
def test_files_of_any_length_are_compared(tmp_path: Path, order: int) -> None:
    """Around the length that is read at a time, in the order of the shard and against it."""
    ahead = _Shard._AHEAD
    lengths = (0, 1, ahead - 5000, 7000, ahead, 3, ahead + 1, 2 * ahead + 17, 0, 600)
    content = np.random.default_rng(0).bytes(3 * ahead)
    media = pack(tmp_path, {f"{k:02d}": content[k : k + length] for k, length in enumerate(lengths)}, cuts=Cuts())
    stored = [media[path] for path in media][::order]
    assert list(undamaged(stored)) == [True] * len(lengths)
    last = media["09"]
    assert isinstance(last, Slice)
    last.shard.write_bytes(last.shard.read_bytes()[: last.offset + 300])
    assert list(undamaged(stored)) == ([True] * 9 + [False])[::order]


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"now")
    with pytest.raises(DataError, match="changed while it was read"), ShardWriter(tmp_path / "out") as shards:
        shards.add("a", tmp_path / "a", 3, hashlib.sha256(b"old").hexdigest())


def test_a_folder_of_plain_files_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.jpg").write_bytes(b"plain")
    media = Media(tmp_path)
    assert list(media) == ["sub/a.jpg"]
    assert media["sub/a.jpg"].read_bytes() == b"plain"
    assert "b" not in media


def test_the_index_says_what_other_versions_need(tmp_path: Path) -> None:
    files = contents(40)
    media = pack(tmp_path, files)
    content = (tmp_path / INDEX).read_bytes()
    assert listed(io.BytesIO(content), "sha256")["a/0007.bin"] == hashlib.sha256(files["a/0007.bin"]).hexdigest()
    assert set(listed(io.BytesIO(content), "shard").values()) == names(tmp_path)
    assert media.at_origin("a/0003.bin") == "a/0003.bin" == media.origin("a/0003.bin")
    with pytest.raises(DataError, match="dvc checkout"):
        media["a/gone.bin"]


@pytest.mark.parametrize("path", ["a", "folder/kind 01/0000001.jpg", "x" * 100, "y" * 101, "z" * 300, "été.jpg"])
@pytest.mark.parametrize("length", [0, 511, 3_000, 8**11 - 1, 8**11])
def test_a_header_is_what_tarfile_makes(path: str, length: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = length
    assert _header(path, length) == entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
