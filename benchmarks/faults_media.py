"""Damaged media of twelve formats, made here: small originals, and injuries drawn from a seed; all are decoded."""

from __future__ import annotations

import io
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from mediarank.media.confine import Confinement
from mediarank.media.frames import FramesConfig, make_working_copies
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import probe

LIMITS = Limits(max_bytes=10**6, max_pixels=10**6, max_seconds=30.0, max_frames=1000, timeout_seconds=60)
IMAGES = {"jpg": "JPEG", "png": "PNG", "tiff": "TIFF", "webp": "WEBP", "gif": "GIF", "heic": "HEIF", "avif": "AVIF"}
CLIPS = {"mp4": "mpeg4", "mkv": "mpeg4", "avi": "mjpeg"}
SOUNDS = {"wav": "pcm_s16le", "ogg": "vorbis"}


def originals(folder: Path) -> list[Path]:
    """One undamaged file per format that can be written here."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    smooth = np.add.outer(np.arange(48), np.arange(64))[..., None] * 2 + rng.integers(0, 30, (48, 64, 3))
    picture = Image.fromarray(smooth.clip(0, 255).astype(np.uint8))
    made = []
    for ending, name in IMAGES.items():
        if name == "HEIF":
            import pillow_heif

            pillow_heif.register_heif_opener()
        buffer = io.BytesIO()
        picture.save(buffer, name)
        made.append(folder / f"a.{ending}")
        made[-1].write_bytes(buffer.getvalue())
    for ending, codec in CLIPS.items():
        made.append(folder / f"a.{ending}")
        with av.open(str(made[-1]), "w") as container:
            video = container.add_stream(codec, rate=Fraction(10))
            video.width, video.height = 64, 48
            video.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            for k in range(8):
                frame = av.VideoFrame.from_ndarray(np.roll(np.asarray(picture), 4 * k, axis=1), format="rgb24")
                container.mux(video.encode(frame))
            container.mux(video.encode(None))
    samples = (np.sin(np.arange(4800) / 9) * 9000).astype(np.int16)[None]
    for ending, codec in SOUNDS.items():
        made.append(folder / f"a.{ending}")
        with av.open(str(made[-1]), "w") as container:
            layout = "stereo" if codec == "vorbis" else "mono"  # FFmpeg's own encoder of Vorbis knows no other
            audio = container.add_stream(codec, rate=16000, layout=layout)
            if codec == "vorbis":
                audio.codec_context.options = {"strict": "experimental"}
            resampler = av.AudioResampler(format=audio.format.name, layout=layout, rate=16000)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate = 16000
            for ready in resampler.resample(frame):
                container.mux(audio.encode(ready))
            container.mux(audio.encode(None))
    return made


def injured(data: bytes, rng: np.random.Generator) -> bytes:
    """Between one and four injuries, half of them near the start, where headers are."""
    body = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        reach = len(body) if rng.random() < 0.5 else min(len(body), 300)
        if reach < 2:
            break
        start, length = int(rng.integers(0, reach)), int(rng.integers(1, 40))
        match int(rng.integers(0, 6)):
            case 0 | 1:
                body[start] ^= 1 << int(rng.integers(0, 8))
            case 2:
                body[start : start + length] = rng.bytes(length)
            case 3:
                del body[start : start + length]
            case 4:
                body[start : start + 4] = int(rng.integers(0, 2**32)).to_bytes(4, "big")
            case _:
                del body[start + length * 8 :]
    return bytes(body)


def decode_mutant(number: int, sources: list[Path], folder: Path) -> str:
    """Decode one injured file as the pipeline would; what is refused raises."""
    source = sources[number % len(sources)]
    path = folder / f"{number}{source.suffix}"
    path.write_bytes(injured(source.read_bytes(), np.random.default_rng(number)))
    try:
        kind = probe(path, LIMITS).kind
        make_working_copies(path.name, path, kind, FramesConfig(max_side=32, frames_per_clip=3), LIMITS)
    finally:
        path.unlink()
    return source.suffix


def media(folder: Path, numbers: range) -> dict[str, Any]:
    """Decode damaged files: each is decoded or refused with a reason; a crash of the decoder is counted."""
    sources = originals(folder / "originals")
    work = partial(decode_mutant, sources=sources, folder=folder)
    allowed = Confinement((folder,), (folder,))
    outcomes = guarded_map(work, numbers, "damaged files", 60, confinement=allowed)
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)]
    crashes = [reason for reason in reasons if "crashed" in reason or "took more" in reason or "Error: " in reason]
    for reason in crashes[:5]:
        print(f"  {reason}")
    formats = sorted(source.suffix[1:] for source in sources)
    return {
        "mutants": len(numbers),
        "mutant_formats": formats,
        "mutants_refused": len(reasons),
        "mutant_crashes": len(crashes),
    }
