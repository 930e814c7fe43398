"""Damaged files of phones and cameras, and damaged blocks of metadata: decoded or refused, no crash, no hang.

The mutations are those of `test_media_fuzz`; the formats are HEIC, AVIF, TIFF, WebP, GIF and DNG.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from making_media import dng, encoded, scene
from test_media_exif import FULL
from test_media_fuzz import LIMITS, fuzz_files, mutated
from test_media_xmp import DIGIKAM, LIGHTROOM, iptc

from mediarank.media.description import may_describe, read_description
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.image import read_image
from mediarank.media.probe import probe
from mediarank.media.xmp import read_xmp
from mediarank.types import MediaError


def originals(folder: Path) -> list[Path]:
    folder.mkdir()
    small = scene(1, 48, 64)
    files = {
        "a.heic": encoded(small, "HEIF", exif=FULL, xmp=LIGHTROOM, quality=60),
        "a.avif": encoded(small, "AVIF", exif=FULL, xmp=LIGHTROOM, quality=60),
        "a.tif": encoded(small, "TIFF", compression="tiff_lzw", tiffinfo={700: LIGHTROOM}),
        "b.tif": encoded(small, "TIFF", compression="jpeg"),
        "c.tif": encoded(small, "TIFF"),
        "a.webp": encoded(small, "WEBP", exif=FULL, xmp=LIGHTROOM),
        "b.webp": encoded(small, "WEBP", lossless=True),
        "a.gif": encoded(small, "GIF"),
        "a.dng": dng(encoded(small, "JPEG"), 6),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def read_mutant(number: int, folder: Path) -> str:
    """Decode a JPEG whose EXIF, XMP or IPTC block is damaged, and read all that its metadata say."""
    rng = np.random.default_rng(number)
    plain = encoded(scene(number, 24, 32), "JPEG")
    path = folder / f"{number}.jpg"
    if number % 3 == 0:
        data = encoded(scene(number, 24, 32), "JPEG", exif=mutated(FULL, rng))
    elif number % 3 == 1:
        packet = mutated((LIGHTROOM, DIGIKAM)[number % 2], rng)
        with suppress(MediaError):
            read_xmp(packet)
        data = encoded(scene(number, 24, 32), "JPEG", xmp=packet)
    else:
        block = mutated(iptc((2, 25, b"sea"), (2, 5, b"title")), rng)
        data = plain[:2] + block + plain[2:]
    path.write_bytes(data)
    try:
        seen = probe(path, LIMITS)
        read_image(path, LIMITS)
        if may_describe(path):
            read_description(path, LIMITS)
        return seen.taken.taken_at
    finally:
        path.unlink()


def fuzz_blocks(folder: Path, count: int) -> None:
    outcomes = guarded_map(partial(read_mutant, folder=folder), range(count), "damaged blocks", timeout_seconds=60)
    reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, Failed)}
    surprises = {reason for reason in reasons if "Error: " in reason or "crashed" in reason or "took more" in reason}
    assert surprises == set()
    # Damaged metadata are no reason to lose a picture.
    assert sum(not isinstance(outcome, Failed) for outcome in outcomes) > 0.6 * count


def test_two_hundred_damaged_files_of_phones(tmp_path: Path) -> None:
    fuzz_files(tmp_path, originals(tmp_path / "originals"), 270)


def test_sixty_damaged_blocks(tmp_path: Path) -> None:
    fuzz_blocks(tmp_path, 60)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_thousand_damaged_files_of_phones(tmp_path: Path) -> None:
    fuzz_files(tmp_path, originals(tmp_path / "originals"), 2250)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_five_hundred_damaged_blocks(tmp_path: Path) -> None:
    fuzz_blocks(tmp_path, 510)
