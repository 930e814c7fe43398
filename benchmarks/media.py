"""Working copies per second: guarded decoding on all cores against a plain loop over the same files.

The plain loop is what one would write in ten minutes: `cv2.imread`, `cv2.resize`, `cv2.imwrite` for images, and one
pass of PyAV over each clip that keeps evenly spaced frames and the sound. It looks out for nothing: no limits, no
orientation of clips, no damage, no hashes, no time-outs. Both sides are timed in turns, best of several.

    python benchmarks/media.py                # images and clips that it draws itself
    python benchmarks/media.py --data FOLDER  # those of a folder; kinds that it lacks are drawn
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
import wave
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from mediarank.collections.sources import open_collection
from mediarank.fanout import jobs
from mediarank.media.frames import FramesConfig, WorkingCopies, make_working_copies
from mediarank.media.guard import Failed, guarded_map
from mediarank.media.limits import Limits
from mediarank.media.probe import probe
from mediarank.types import MediaError

CONFIG = FramesConfig()
JPEG = (cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444)


def plain_images(files: list[Path], target: Path) -> int:
    for number, path in enumerate(files):
        image = cv2.imread(str(path))
        cv2.imwrite(str(target / f"{number}.jpg"), plain_shrink(image), JPEG)
    return len(files)


def plain_clips(files: list[Path], target: Path) -> int:
    for number, path in enumerate(files):
        with av.open(str(path)) as container:
            video = container.streams.video[0]
            audio = container.streams.audio[0] if container.streams.audio else None
            count = CONFIG.frames_per_clip
            wanted = {int((2 * i + 1) * video.frames / (2 * count)) for i in range(count)}
            resampler = av.AudioResampler(format="s16", layout="mono", rate=CONFIG.sample_rate)
            seen, sound = 0, []
            for frame in container.decode(video, audio) if audio else container.decode(video):
                if isinstance(frame, av.AudioFrame):
                    sound += [part.to_ndarray().ravel() for part in resampler.resample(frame)]
                    continue
                if seen in wanted:
                    image = plain_shrink(frame.to_ndarray(format="bgr24"))
                    cv2.imwrite(str(target / f"{number}_{seen}.jpg"), image, JPEG)
                seen += 1
            if sound:
                with wave.open(str(target / f"{number}.wav"), "wb") as file:
                    file.setparams((1, 2, CONFIG.sample_rate, 0, "NONE", ""))
                    file.writeframes(np.concatenate(sound).tobytes())
    return len(files)


def plain_shrink(image: Any) -> Any:
    height, width = image.shape[:2]
    scale = CONFIG.max_side / max(height, width)
    if scale >= 1:
        return image
    return cv2.resize(image, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)


def copy_one(numbered: tuple[int, Path], kind: str) -> WorkingCopies:
    number, path = numbered
    return make_working_copies(f"{number}{path.suffix}", path, kind, CONFIG, Limits())


def guarded(files: list[Path], target: Path, kind: str) -> int:
    function = partial(copy_one, kind=kind)
    outcomes = guarded_map(function, list(enumerate(files)), f"{kind}s", Limits().timeout_seconds)
    made = [outcome for outcome in outcomes if not isinstance(outcome, Failed)]
    for number, copies in enumerate(made):
        for path, content in copies.contents.items():
            (target / f"{number}_{Path(path).name}").write_bytes(content)
    return len(made)


def best_seconds(work: list[Callable[[Path], int]], expected: int, rounds: int) -> list[float]:
    """The best time of each piece of work over some rounds in turns, each into an empty folder."""
    best = [float("inf")] * len(work)
    for _ in range(rounds):
        for index, function in enumerate(work):
            target = Path(tempfile.mkdtemp(prefix="working-copies-"))
            start = time.perf_counter()
            done = function(target)
            best[index] = min(best[index], time.perf_counter() - start)
            shutil.rmtree(target)
            assert done == expected, f"only {done} of {expected} files were decoded"
    return best


def drawn(seed: int, height: int, width: int) -> Any:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)
    image = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return cv2.add(image, rng.integers(0, 16, image.shape, dtype=np.uint8))


def draw_images(folder: Path, count: int) -> list[Path]:
    files = []
    for seed in range(count):
        path = folder / f"{seed}.jpg"
        cv2.imwrite(str(path), drawn(seed, *((768, 1024), (480, 640), (240, 320))[seed % 3]))
        files.append(path)
    return files


def draw_clips(folder: Path, count: int) -> list[Path]:
    files = []
    for seed in range(count):
        path = folder / f"{seed}.mp4"
        with av.open(str(path), "w") as container:
            video = container.add_stream("libx264", rate=25, options={"preset": "veryfast"})
            video.width, video.height, video.pix_fmt = 640, 360, "yuv420p"
            sound = container.add_stream("aac", rate=44100, layout="mono")
            wide = drawn(seed, 360, 900)
            for step in range(75):
                view = np.ascontiguousarray(wide[:, 3 * step : 3 * step + 640])
                frame = av.VideoFrame.from_ndarray(view, format="rgb24")
                frame.pts, frame.time_base = step, Fraction(1, 25)
                container.mux(video.encode(frame))
            container.mux(video.encode(None))
            noise = np.random.default_rng(seed).normal(0, 0.1, (1, 3 * 44100)).astype(np.float32)
            for start in range(0, noise.shape[1], 1024):
                block = np.ascontiguousarray(noise[:, start : start + 1024])
                frame = av.AudioFrame.from_ndarray(block, format="fltp", layout="mono")
                frame.sample_rate, frame.pts, frame.time_base = 44100, start, Fraction(1, 44100)
                container.mux(sound.encode(frame))
            container.mux(sound.encode(None))
        files.append(path)
    return files


def found(folder: Path, most: int) -> tuple[list[Path], list[Path]]:
    """Usable images and clips of a collection, at most `most` of each, evenly chosen."""
    kinds: dict[str, list[Path]] = {"image": [], "clip": [], "sound": []}
    for path in sorted(open_collection(folder).files.values()):
        try:
            kinds[probe(path, Limits()).kind].append(path)
        except MediaError as error:
            print(f"left out {path}: {error}")
    return tuple(files[:: max(1, len(files) // most)][:most] for files in (kinds["image"], kinds["clip"]))  # type: ignore[return-value]


def frames_in(files: list[Path]) -> int:
    """Frames that the plain loop decodes."""
    total = 0
    for path in files:
        with av.open(str(path)) as container:
            total += sum(1 for packet in container.demux(video=0) if packet.size)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of images and clips; without it, they are drawn")
    parser.add_argument("--most", type=int, default=900, help="images to use at most; a tenth as many clips")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="media-benchmark-") as name:
        folder = Path(name)
        images, clips = found(arguments.data, arguments.most) if arguments.data else ([], [])
        clips = clips[: max(1, arguments.most // 10)]
        images = images or draw_images(folder, min(arguments.most, 900))
        clips = clips or draw_clips(folder, min(max(1, arguments.most // 10), 36))
        guarded(images[:1], folder, "image")  # starts the server that the children are forked from
        rows = {}
        for kind, files, plain, units in (
            ("image", images, plain_images, len(images)),
            ("clip", clips, plain_clips, frames_in(clips)),
        ):
            work = [partial(plain, files), partial(guarded, files, kind=kind)]
            slow, fast = best_seconds(work, len(files), arguments.rounds)
            rows[kind] = (len(files), units / slow, units / fast, slow / fast)
    print(f"{jobs()} processes on {os.cpu_count()} cores, working copies of {CONFIG.max_side} pixels")
    print(f"{'':8}{'files':>8}{'plain loop':>14}{'guarded':>14}{'ratio':>8}")
    for kind, (count, slow, fast, ratio) in rows.items():
        unit = "images/s" if kind == "image" else "frames/s"
        print(f"{kind + 's':8}{count:8}{slow:8.0f} {unit}{fast:8.0f} {unit}{ratio:5.2f}")
    summary = {
        "images_per_s": round(rows["image"][2], 1), "images_ratio": round(rows["image"][3], 3),
        "frames_per_s": round(rows["clip"][2], 1), "frames_ratio": round(rows["clip"][3], 3),
    }  # fmt: skip
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
