from __future__ import annotations

import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mediarank import content_cache as module
from mediarank.features.cache import FeatureCache, cache_key


def key(number: int) -> str:
    return cache_key("family", f"{number}")


def vector(number: int, width: int = 25) -> np.ndarray:
    return np.random.default_rng(number).normal(size=width).astype(np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> FeatureCache:
    return FeatureCache(tmp_path / "cache")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time that entries are stamped with."""
    return lambda now: monkeypatch.setattr(module.time, "time", lambda: now)


def test_what_is_put_is_got(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(30)})
    found = cache.get([key(n) for n in (3, 29, 30, 3)])
    assert list(found) == [key(3), key(29)]
    np.testing.assert_array_equal(found[key(29)], vector(29))
    assert found[key(3)].dtype == np.float32
    assert not found[key(3)].flags.writeable  # it is the very bytes that were read


def test_an_empty_cache_has_nothing(cache: FeatureCache) -> None:
    assert cache.get([key(0)]) == {}
    assert cache.get([]) == {}
    assert cache.statistics().empty
    assert cache.prune() == 0


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_keys_is_found(cache: FeatureCache, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the file, in another one, with gaps, with unknown keys: as if each were looked up alone."""
    rng = np.random.default_rng(seed)
    for name, most in (("_STRAY", 6), ("_WORTH", 12), ("_TOGETHER", 16)):
        monkeypatch.setattr(module, name, int(rng.integers(1, most)))
    written = rng.permutation(200).tolist()
    for start in range(0, 200, 40):
        cache.put("hog", {key(n): vector(n) for n in written[start : start + 40]})
    in_file = [n for n in written if n % 3]
    for asked in (in_file, in_file[::-1], rng.permutation(300)[:150].tolist(), [400, *written, 401], [500, 501]):
        known = {key(n) for n in asked if n < 200}
        assert cache.known(map(key, asked)) == known
        found = cache.get(map(key, asked))
        assert set(found) == known
        assert all((found[key(n)] == vector(n)).all() for n in asked if n < 200)


def test_what_lies_together_is_not_looked_up_one_by_one(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(3000)})
    cache.put("lbp", {cache_key("other", str(n)): vector(n) for n in range(3000)})
    asked: list[str] = []
    with sqlite3.connect(cache.path) as db:
        db.set_trace_callback(asked.append)
        found = module._read(db, [key(n) for n in range(3000)])
    assert len(found) == 3000
    assert len(asked) == 1


def test_keys_depend_on_content_and_identity() -> None:
    assert len({cache_key("a", "x"), cache_key("a", "y"), cache_key("b", "x")}) == 3


def test_putting_again_replaces(cache: FeatureCache) -> None:
    cache.put("hog", {key(0): vector(0)})
    cache.put("hog", {key(0): vector(1, 40)})
    np.testing.assert_array_equal(cache.get([key(0)])[key(0)], vector(1, 40))
    assert cache.statistics()["entries"].sum() == 1


def test_statistics_are_by_family(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(3)})
    cache.put("lbp", {key(n): vector(n, 10) for n in range(3, 5)})
    table = cache.statistics().set_index("family")
    assert table["entries"].to_dict() == {"hog": 3, "lbp": 2}
    assert table["bytes"].to_dict() == {"hog": 300, "lbp": 80}
    assert abs(table["last_used"].max().timestamp() - time.time()) < 60


def test_the_limit_evicts_what_was_used_longest_ago(tmp_path: Path, clock: Callable[[float], None]) -> None:
    cache = FeatureCache(tmp_path, limit=1000)  # ten vectors of 100 bytes
    for n in range(10):
        clock(1e6 + 10_000 * n)
        cache.put("hog", {key(n): vector(n)})
    clock(2e6)
    cache.get([key(0)])  # the oldest is used again
    cache.put("hog", {key(10): vector(10)})
    kept = [n for n in range(11) if cache.get([key(n)])]
    assert kept == [0, *range(3, 11)]  # down to nine tenths, key 0 spared


def test_reading_often_writes_once(cache: FeatureCache, clock: Callable[[float], None]) -> None:
    clock(1e6)
    cache.put("hog", {key(0): vector(0)})
    clock(1e6 + 60)
    cache.get([key(0)])
    assert cache.statistics()["last_used"][0].timestamp() == 1e6
    clock(1e6 + 7200)
    cache.get([key(0)])
    assert cache.statistics()["last_used"][0].timestamp() == 1e6 + 7200


def test_pruning_gives_room_back(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n, 5000) for n in range(100)})
    before = cache.path.stat().st_size
    assert cache.prune(limit=500_000) == 75
    assert cache.statistics()["bytes"].sum() == 500_000
    assert cache.path.stat().st_size < before / 2
    assert cache.prune() == 25
    assert cache.get([key(99)]) == {}


def test_a_damaged_entry_is_forgotten(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(4)})
    with sqlite3.connect(cache.path) as db:
        ids = dict(db.execute("SELECT hex(key), id FROM entry"))
        flipped = bytearray(vector(0).tobytes())
        flipped[7] ^= 1
        db.execute("UPDATE payload SET data = ? WHERE id = ?", (bytes(flipped), ids[key(0).upper()]))
        db.execute("UPDATE payload SET data = ? WHERE id = ?", (b"short", ids[key(1).upper()]))
        db.execute("DELETE FROM payload WHERE id = ?", (ids[key(2).upper()],))
    db.close()
    assert list(cache.get([key(n) for n in range(4)])) == [key(3)]
    assert cache.statistics()["entries"].sum() == 1  # what failed is gone
    cache.put("hog", {key(0): vector(0)})
    np.testing.assert_array_equal(cache.get([key(0)])[key(0)], vector(0))


@pytest.mark.parametrize("damage", ["garbage", "empty", "holes"])
def test_a_damaged_file_is_never_trusted(cache: FeatureCache, damage: str) -> None:
    cache.put("hog", {key(n): vector(n, 3000) for n in range(60)})
    cache.prune(limit=10**9)  # fold the journal into the file
    content = bytearray(cache.path.read_bytes())
    if damage == "garbage":
        content[:] = os.urandom(len(content))
    elif damage == "empty":
        content.clear()
    else:
        rng = np.random.default_rng(0)
        for start in rng.integers(0, len(content) - 4096, 40):
            content[start : start + 2048] = rng.bytes(2048)
    cache.path.write_bytes(content)
    for _ in range(3):  # the first look may find the damage and start afresh
        found = cache.get([key(n) for n in range(60)])
        for n in range(60):
            if key(n) in found:
                np.testing.assert_array_equal(found[key(n)], vector(n, 3000))
        cache.put("hog", {key(n): vector(n, 3000) for n in range(60)})
    assert len(cache.get([key(n) for n in range(60)])) == 60


def test_a_folder_that_can_not_be_used_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = FeatureCache(tmp_path / "file")
    cache.put("hog", {key(0): vector(0)})
    assert cache.get([key(0)]) == {}
    assert cache.known([key(0)]) == set()
    warned = capsys.readouterr().err
    assert "can't be written to" in warned
    assert str(cache.path) in warned


def test_a_full_disk_costs_the_entry_and_nothing_else(
    cache: FeatureCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(4)})
    cache.prune(limit=10**9)
    prepare = module._prepare

    def full(db: sqlite3.Connection) -> None:
        prepare(db)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(module, "_prepare", full)
    cache.put("hog", {key(n): vector(n, 50_000) for n in range(10, 14)})
    assert "full" in capsys.readouterr().err
    assert set(cache.get([key(n) for n in (0, 3, 10)])) == {key(0), key(3)}


@pytest.mark.parametrize("journal", [False, True])
def test_a_read_only_cache_is_still_read(cache: FeatureCache, journal: bool) -> None:
    """In a child, which gives up root's right to write anywhere (CAP_DAC_OVERRIDE leaves its bounding set)."""
    cache.put("hog", {key(n): vector(n) for n in range(4)})
    if not journal:
        cache.prune(limit=10**9)
    for path in (*cache.folder.iterdir(), cache.folder):
        path.chmod(0o555)
    program = (
        "import sys; from pathlib import Path; from mediarank.features.cache import FeatureCache, cache_key\n"
        "import numpy as np\n"
        "cache = FeatureCache(Path(sys.argv[1])); keys = [cache_key('family', str(n)) for n in range(4)]\n"
        "cache.put('hog', {cache_key('family', '9'): np.zeros(3, np.float32)})\n"
        "print(len(cache.get(keys)))"
    )

    def obey_modes() -> None:
        if os.geteuid() == 0:
            assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0

    command = [sys.executable, "-c", program, str(cache.folder)]
    try:
        done = subprocess.run(command, preexec_fn=obey_modes, capture_output=True, text=True, check=False)
    finally:
        cache.folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "can't be written to" in done.stderr
    assert int(done.stdout) == 4


def test_a_damaged_index_does_not_hand_out_another_vector(cache: FeatureCache) -> None:
    cache.put("hog", {key(n): vector(n) for n in range(2)})
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE entry SET key = x'00' WHERE key = ?", (bytes.fromhex(key(0)),))
        db.execute("UPDATE entry SET key = ? WHERE key = ?", (bytes.fromhex(key(0)), bytes.fromhex(key(1))))
    db.close()
    assert cache.get([key(0), key(1)]) == {}


WRITER = """
import sys
from pathlib import Path
import numpy as np
from mediarank.features.cache import FeatureCache, cache_key
cache, first, last = FeatureCache(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
for start in range(first, last, 20):
    block = range(start, min(start + 20, last))
    vectors = [np.random.default_rng(n).normal(size=25).astype(np.float32) for n in block]
    cache.put("hog", {cache_key("family", str(n)): vector for n, vector in zip(block, vectors)})
    print(start, flush=True)
"""


def start_writer(folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_writers_do_not_hinder_one_another(cache: FeatureCache) -> None:
    # overlapping ranges: two of them write the same keys
    writers = [start_writer(cache.folder, first, first + 300) for first in (0, 300, 450)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    found = cache.get([key(n) for n in range(750)])
    assert len(found) == 750
    np.testing.assert_array_equal(found[key(500)], vector(500))


def test_a_killed_writer_leaves_whole_entries(cache: FeatureCache) -> None:
    writer = start_writer(cache.folder, 0, 10**7)
    assert writer.stdout is not None
    for _ in range(5):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(60)
    found = cache.get([key(n) for n in range(2000)])
    assert len(found) >= 100
    assert len(found) % 20 == 0  # a batch is there or it is not
    for n in (0, 50, 99):
        np.testing.assert_array_equal(found[key(n)], vector(n))
    cache.put("hog", {key(10**8): vector(1)})
    assert len(cache.get([key(10**8)])) == 1
