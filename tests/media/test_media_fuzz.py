"""Thousands of damaged files: each is decoded or refused with a reason, in bounded time and memory.

A file that makes a decoder crash or hang would be refused too, by the guard; none that is made here does.
"""

from __future__ import annotations

import resource
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from making_media import encoded, scene, tone, write_clip, write_sound

from mediarank.media.frames import FramesConfig, make_working_copies
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import probe

LIMITS = Limits(max_bytes=10**6, max_pixels=10**6, max_seconds=30.0, max_frames=1000)
MEGABYTES = 200


def originals(folder: Path) -> list[Path]:
    folder.mkdir()
    jpeg, progressive, png = folder / "a.jpg", folder / "b.jpg", folder / "a.png"
    jpeg.write_bytes(encoded(scene(1, 48, 64), "JPEG"))
    progressive.write_bytes(encoded(scene(2, 48, 64), "JPEG", progressive=True, comment=b"a comment"))
    png.write_bytes(encoded(scene(3, 24, 32), "PNG"))
    clip = write_clip(
        folder / "a.mp4", [scene(i, 48, 64) for i in range(8)], sound=tone(0.3, 48000), options={"preset": "medium"}
    )
    streamed = write_clip(
        folder / "b.mp4", [scene(i, 48, 64) for i in range(8)], container_options={"movflags": "+faststart"}
    )
    return [jpeg, progressive, png, clip, streamed, write_sound(folder / "a.wav", tone(0.2, 22050), 22050)]


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Between one and five injuries, half of them near the start, where headers are."""
    body = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        reach = len(body) if rng.random() < 0.5 else min(len(body), 400)
        if reach < 2:
            break
        start = int(rng.integers(0, reach))
        length = int(min(rng.integers(1, 40), len(body) - start))
        match int(rng.integers(0, 8)):
            case 0 | 1:
                body[start] ^= 1 << int(rng.integers(0, 8))
            case 2:
                body[start : start + length] = rng.bytes(length)
            case 3:
                body[start : start + length] = bytes([int(rng.choice([0, 255, 127]))]) * length
            case 4:
                del body[start : start + length]
            case 5:
                body[start:start] = body[start : start + length]
            case 6:
                body[start : start + 4] = int(rng.integers(0, 2**32)).to_bytes(4, "big")
            case _:
                del body[start + length * 8 :]
    return bytes(body)


def with_checksums(png: bytes) -> bytes:
    """Correct the checksum of each chunk, without which a decoder looks no further."""
    body, position = bytearray(png), 8
    while position + 12 <= len(body):
        end = position + 8 + int.from_bytes(body[position : position + 4], "big")
        if end + 4 <= len(body):
            body[end : end + 4] = zlib.crc32(body[position + 4 : end]).to_bytes(4, "big")
        position = end + 4
    return bytes(body)


def decode_mutant(number: int, sources: list[Path], folder: Path) -> int:
    """Peak memory in kilobytes after decoding one damaged file; what is refused raises."""
    source = sources[number % len(sources)]
    path = folder / f"{number}{source.suffix}"
    data = mutated(source.read_bytes(), np.random.default_rng(number))
    path.write_bytes(with_checksums(data) if source.suffix == ".png" and number % 4 else data)
    try:
        kind = probe(path, LIMITS).kind
        config = FramesConfig(max_side=32, frames_per_clip=3, sampling="shots" if number % 5 == 0 else "uniform")
        make_working_copies(path.name, path, kind, config, LIMITS)
    finally:
        path.unlink()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(folder: Path, count: int) -> None:
    fuzz_files(folder, originals(folder / "originals"), count)


def fuzz_files(folder: Path, sources: list[Path], count: int) -> None:
    """Damage the sources `count` times and decode what comes out."""
    work = partial(decode_mutant, sources=sources, folder=folder)
    (start,) = guarded_map(peak_memory, [0], "at rest", 60)
    outcomes = guarded_map(work, range(count), "damaged files", timeout_seconds=60)
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)]
    peaks = [outcome for outcome in outcomes if not isinstance(outcome, Failed)]
    assert len(reasons) + len(peaks) == count
    # Enough of either kind, or the injuries are too light or too heavy to show anything.
    assert len(reasons) > count / 10
    assert len(peaks) > count / 10
    surprises = {reason for reason in reasons if "Error: " in reason or "crashed" in reason or "took more" in reason}
    assert surprises == set()
    assert all(len(reason) > 20 for reason in reasons)
    assert not isinstance(start, Failed)
    assert max(peaks) - start < MEGABYTES * 1024


def peak_memory(_: int) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_two_thousand_damaged_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 2400)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_many_more_damaged_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 12000)
