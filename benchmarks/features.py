"""Feature families against what users would reach for, on one thread, and a whole collection on all cores.

Ratios are times of the peer over ours, so more is better: HOG, LBP and LAB histograms against scikit-image, Gabor
bank and GIST against the same by scipy.fft in single precision, autocorrelogram and 3D-HOG against numpy, MFCC
against librosa. Each side computes the same thing, which is asserted, and both are timed in turns by the processor
time they take, best of several: so the machine's other work hardly counts.

The family `network` is compared with a plain loop over onnxruntime (`features_network.py`), and with Corel 5K codebooks
of few pictures with codebooks of many (`features_codebook.py`).

    python benchmarks/features.py                                # pictures that it draws itself
    python benchmarks/features.py --data FOLDER                  # a collection's; all of it if it is Corel 5K
    python benchmarks/features.py --data FOLDER --params FILE    # feature types of another params.yaml
    python benchmarks/features.py --parts network                # or families, layers, collection, codebook
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import librosa
import numpy as np
import pandas as pd
import scipy.fft
import yaml
from features_codebook import codebook_quality
from features_network import layer_quality, network_speed
from joblib.externals.loky import get_reusable_executor
from pydantic import TypeAdapter
from skimage.color import rgb2lab
from skimage.feature import hog, local_binary_pattern
from threadpoolctl import threadpool_limits

from mediarank.collections.sources import open_collection, recognise
from mediarank.fanout import jobs
from mediarank.features import gabor, gist
from mediarank.features.autocorrelogram import Autocorrelogram, quantised
from mediarank.features.cache import FeatureCache
from mediarank.features.colour_histogram import LabHistogram
from mediarank.features.describe import extract_rows
from mediarank.features.families import EXTRACTORS
from mediarank.features.fitting import fit
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.hog import Hog
from mediarank.features.hog3d import Hog3d, icosahedron_axes
from mediarank.features.lbp import Lbp
from mediarank.features.mfcc import Mfcc
from mediarank.features.pixels import grey, resized
from mediarank.media.shards import Media
from mediarank.media.working import read_picture
from mediarank.types import Roles

PARTS = ("families", "network", "layers", "collection", "codebook")
SIDE = 256
EXTENSIONS = {".jpg", ".jpeg", ".png"}
Pair = tuple[str, str, Callable[[Any], Any], Callable[[Any], Any], list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection, or one with Corel 5K in it")
    parser.add_argument("--params", type=Path, default=Path(__file__).parents[1] / "params.yaml")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()

    cv2.setNumThreads(1)
    report: dict[str, Any] = {}
    with threadpool_limits(1):
        if "families" in options.parts:
            report |= family_ratios(pictures(options.data), options.rounds)
        if "network" in options.parts:
            report |= network_speed(pictures(options.data), options.rounds)
    corel = corel5k(options.data)
    if "collection" in options.parts:
        report |= collection_seconds(corel, options.params)
    if "layers" in options.parts:
        report["layers"] = layer_quality(corel) if corel else None
    if "codebook" in options.parts:
        report["codebook"] = codebook_quality(corel) if corel else None
    print(json.dumps(report))


def family_ratios(images: list[np.ndarray], rounds: int) -> dict[str, float]:
    report = {}
    print(f"{'family':16}{'ours, ms':>10}{'peer, ms':>10}{'ratio':>8}  peer")
    for key, peer_name, ours, peer, media in pairs(images):
        mine, theirs = measured(ours, peer, media, rounds)
        report[key] = round(theirs / mine, 2)
        print(f"{key:16}{1e3 * mine:10.2f}{1e3 * theirs:10.2f}{report[key]:8.1f}  {peer_name}")
    return report


def corel5k(data: Path | None) -> Path | None:
    """The folder, or the one in it, that holds Corel 5K."""
    near = [] if data is None else [f for f in (data, *sorted(data.iterdir())) if f.is_dir()]
    return next((f for f in near if recognise(f) == "corel5k"), None)


def measured(ours: Callable[[Any], Any], peer: Callable[[Any], Any], media: list[Any], rounds: int) -> list[float]:
    """Processor seconds per medium, of each side."""
    best = [float("inf"), float("inf")]
    for function in (ours, peer):
        function(media[0])  # compiles, and fills tables
    for _ in range(rounds):
        for side, function in enumerate((ours, peer)):
            for medium in media:
                started = time.process_time()
                function(medium)
                best[side] = min(best[side], time.process_time() - started)
    return best


def pictures(data: Path | None, count: int = 8) -> list[np.ndarray]:
    files = picture_files(data)[:: max(1, len(picture_files(data)) // count)][:count] if data else []
    if files:
        return [resized(read_picture(path), SIDE, SIDE) for path in files]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(count):
        layers = [
            cv2.resize(rng.normal(size=(n, n, 3)), (SIDE, SIDE), interpolation=cv2.INTER_CUBIC) for n in (4, 16, 64)
        ]
        mixed = sum(layer / 2**k for k, layer in enumerate(layers))
        drawn.append(np.clip(128 + 60 * mixed, 0, 255).astype(np.uint8))
    return drawn


def picture_files(folder: Path) -> list[Path]:
    """Of the collection that the folder is recognised as."""
    return sorted(path for path in open_collection(folder).files.values() if path.suffix.lower() in EXTENSIONS)


def pairs(images: list[np.ndarray]) -> Iterator[Pair]:
    """Key, peer's name, our function, the peer's, and what both are given; both agree, or this stops."""
    ours_hog = Hog(window=SIDE, cell=8, gamma=False)
    yield "hog", "scikit-image hog", ours_hog.extract, skimage_hog, images

    ours_lbp = Lbp(radii=(1.0,), normalisation="none")
    inner = np.sort(skimage_lbp(images[0]))
    assert np.abs(np.sort(ours_lbp.extract(images[0])) - inner).sum() < 0.1 * inner.sum()
    yield "lbp", "scikit-image local_binary_pattern + numpy", ours_lbp.extract, skimage_lbp, images

    ours_lab = LabHistogram(soft=False, curved=False)
    assert np.abs(ours_lab.extract(images[0]) - skimage_lab(images[0])).sum() < 0.2
    yield "lab", "scikit-image rgb2lab + numpy histogramdd", ours_lab.extract, skimage_lab, images

    ours_gabor, peer_gabor = GaborBank(), ScipyGabor(GaborBank())
    assert np.corrcoef(ours_gabor.extract(images[0]), peer_gabor(images[0]))[0, 1] > 0.999
    yield "gabor", "scipy.fft, the same 40 filters", ours_gabor.extract, peer_gabor, images

    ours_gist, peer_gist = Gist(), ScipyGist(Gist())
    assert np.corrcoef(ours_gist.extract(images[0]), peer_gist(images[0]))[0, 1] > 0.999
    yield "gist", "scipy.fft, the same 32 filters", ours_gist.extract, peer_gist, images

    ours_auto = Autocorrelogram()
    assert np.abs(ours_auto.extract(images[0]) - numpy_autocorrelogram(images[0])).max() < 1e-5
    yield "autocorrelogram", "numpy, shifted pictures", ours_auto.extract, numpy_autocorrelogram, images

    clips = [np.stack([np.roll(image, 2 * t, axis=1) for t in range(16)]) for image in images[:2]]
    ours_hog3d, peer_hog3d = Hog3d(), NumpyHog3d(Hog3d())
    assert np.abs(ours_hog3d.describe(clips[0]).values - peer_hog3d(clips[0])).max() < 1e-3
    yield "hog3d", "numpy, cell by cell", ours_hog3d.describe, peer_hog3d, clips

    rng = np.random.default_rng(0)
    sounds = [rng.normal(0, 0.1, 160_000).astype(np.float32) for _ in range(4)]
    ours_mfcc = Mfcc()
    assert np.abs(ours_mfcc.describe(sounds[0]).values - librosa_mfcc(sounds[0])).max() < 1e-2
    yield "mfcc", "librosa, 10 s at 16 kHz", ours_mfcc.describe, librosa_mfcc, sounds


def skimage_hog(image: np.ndarray) -> np.ndarray:
    return hog(image, orientations=9, pixels_per_cell=(8, 8), cells_per_block=(2, 2), channel_axis=-1)


def skimage_lbp(image: np.ndarray) -> np.ndarray:
    codes = local_binary_pattern(grey(image), 8, 1, "nri_uniform")
    return np.bincount(codes.astype(np.int64).ravel(), minlength=59)


def skimage_lab(image: np.ndarray) -> np.ndarray:
    lab = rgb2lab(image).reshape(-1, 3)
    counts, _ = np.histogramdd(lab, bins=(8, 8, 8), range=((0, 100.4), (-88, 100), (-108, 96)))
    return (counts / len(lab)).astype(np.float32).ravel()


class ScipyGabor:
    """Every filter on the full grid by scipy.fft, single precision; one at a time is faster than all at once."""

    def __init__(self, family: GaborBank) -> None:
        self.family = family
        self.bank = gabor.transfer_functions(family.side, family.scales, family.orientations).astype(np.float32)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        square = resized(grey(image), self.family.side, self.family.side).astype(np.float32) / np.float32(255)
        spectrum, cells = scipy.fft.fft2(square), self.family.cells
        means, spreads = [], []
        for gains in self.bank:
            magnitude = np.abs(scipy.fft.ifft2(spectrum * gains))
            blocks = magnitude.reshape(cells, len(gains) // cells, cells, -1)
            means.append(blocks.mean(axis=(1, 3)))
            spreads.append(blocks.std(axis=(1, 3)))
        return np.concatenate([np.ravel(means), np.ravel(spreads)])


class ScipyGist:
    """Prefilter and filters on the full grid by scipy.fft, single precision."""

    def __init__(self, family: Gist) -> None:
        self.family = family
        side = family.side + 2 * family.padding
        self.bank = gist.transfer_functions(side, family.scales, family.orientations).astype(np.float32)
        frequency = np.fft.fftfreq(side, 1 / side)
        squared = frequency[:, None] ** 2 + frequency[None, :] ** 2
        self.low_pass = np.exp(-squared * np.log(2) / 4.0**2).astype(np.float32)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        side, padding, blocks = self.family.side, self.family.padding, self.family.blocks
        logs = np.log1p(resized(grey(image), side, side).astype(np.float32))
        logs = np.pad(logs, padding, mode="reflect")
        detail = logs - scipy.fft.ifft2(scipy.fft.fft2(logs) * self.low_pass).real
        contrast = np.sqrt(np.abs(scipy.fft.ifft2(scipy.fft.fft2(detail**2) * self.low_pass).real))
        spectrum = scipy.fft.fft2(detail / (np.float32(0.2) + contrast))
        means = []
        for gains in self.bank:
            magnitude = np.abs(scipy.fft.ifft2(spectrum * gains))[padding : padding + side, padding : padding + side]
            means.append(magnitude.reshape(blocks, side // blocks, blocks, -1).mean(axis=(1, 3)))
        return np.ravel(means)


def numpy_autocorrelogram(image: np.ndarray) -> np.ndarray:
    family = Autocorrelogram()
    colours, count = quantised(image, family.space, family.bins), int(np.prod(family.bins))
    height, width = colours.shape
    result = []
    for d in family.distances:
        same, pairs_ = np.zeros(count), np.zeros(count)
        for dy in range(-d, d + 1):
            for dx in range(-d, d + 1):
                if max(abs(dy), abs(dx)) == d:
                    here = colours[max(0, -dy) : height - max(0, dy), max(0, -dx) : width - max(0, dx)]
                    there = colours[max(0, dy) : height - max(0, -dy), max(0, dx) : width - max(0, -dx)]
                    pairs_ += np.bincount(here.ravel(), minlength=count)
                    same += np.bincount(here[here == there], minlength=count)
        result.append(np.divide(same, pairs_, out=np.zeros(count), where=pairs_ > 0))
    return np.concatenate(result)


class NumpyHog3d:
    """Gradients of the whole clip at once, then directions cell by cell and descriptors block by block."""

    def __init__(self, family: Hog3d) -> None:
        self.family = family
        self.axes = icosahedron_axes(family.signed)

    def __call__(self, clip: np.ndarray) -> np.ndarray:
        family = self.family
        scale = family.side / max(clip.shape[1:3])
        height, width = round(clip.shape[1] * scale), round(clip.shape[2] * scale)
        volume = np.stack([resized(grey(frame), height, width) for frame in clip]).astype(np.float32) / np.float32(255)
        dt, dy, dx = np.gradient(volume)
        gradients = np.stack([dx, dy, dt], axis=-1)
        t, y, x = volume.shape[0] // family.cell_frames, height // family.cell, width // family.cell
        cells = np.zeros((t, y, x, len(self.axes)), dtype=np.float32)
        half, half_frames = family.cell // 2, family.cell_frames // 2
        for i, j, k in np.ndindex(t, y, x):
            part = gradients[
                i * family.cell_frames : (i + 1) * family.cell_frames,
                j * family.cell : (j + 1) * family.cell,
                k * family.cell : (k + 1) * family.cell,
            ]
            means = part.reshape(2, half_frames, 2, half, 2, half, 3).mean(axis=(1, 3, 5)).reshape(8, 3)
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            cosines = np.abs(means @ self.axes.T) / np.maximum(lengths, np.float32(1e-6))
            shares = np.maximum(cosines - np.float32(np.sqrt(5) / 3), 0)
            shares /= np.maximum(np.linalg.norm(shares, axis=1, keepdims=True), np.float32(1e-6))
            cells[i, j, k] = (shares * lengths).sum(axis=0)
        blocks = []
        for i in range(t - family.block_time + 1):
            for j in range(y - family.block + 1):
                for k in range(x - family.block + 1):
                    block = cells[i : i + family.block_time, j : j + family.block, k : k + family.block].ravel()
                    block = np.minimum(block / max(np.linalg.norm(block), 1e-9), 0.2)
                    blocks.append(block / max(np.linalg.norm(block), 1e-9))
        return np.array(blocks)


def librosa_mfcc(samples: np.ndarray) -> np.ndarray:
    cepstrum = librosa.feature.mfcc(
        y=samples, sr=16_000, n_mfcc=13, n_fft=512, win_length=400, hop_length=160, n_mels=40, htk=True, mel_norm=None
    )
    return np.concatenate([cepstrum, librosa.feature.delta(cepstrum), librosa.feature.delta(cepstrum, order=2)]).T


def collection_seconds(folder: Path | None, params: Path) -> dict[str, float | None]:
    """All feature types of params.yaml that see pictures, over Corel 5K, the last per cent of them in a second go.

    corel5k_s : both goes; one_percent_more : processor time of the second over the first; None without Corel 5K
    """
    if folder is None:
        return {"corel5k_s": None, "one_percent_more": None}
    paths = [path.relative_to(folder).as_posix() for path in picture_files(folder)]
    frames = pd.DataFrame({"frame_id": paths, "item_id": paths, "kind": "image", "index": 0, "path": paths})
    frames["sha256"] = [hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in paths]
    roles = Roles(pd.DataFrame({"item_id": paths, "group_id": paths, "role": "base", "fold": 0}))
    sounds = pd.DataFrame(columns=["item_id", "path", "seconds", "sha256"])
    late, media = set(paths[::100]), Media(folder)
    early = frames[~frames["path"].isin(late)]
    wall, work = np.zeros(2), np.zeros(2)
    with tempfile.TemporaryDirectory() as temporary:
        for name, settings in yaml.safe_load(params.read_text())["features"].items():
            family = TypeAdapter(EXTRACTORS[settings.pop("family")]).validate_python(settings)
            if family.modality != "image":
                continue
            for go, part in enumerate((early, frames)):
                started, worked = time.perf_counter(), processor_seconds()
                cache = FeatureCache(Path(temporary))
                extract_rows(fit(family, part, sounds, media, roles, cache), part, sounds, media, cache)
                wall[go] += time.perf_counter() - started
                get_reusable_executor().shutdown(wait=True)  # what workers have done is known when they have ended
                work[go] += processor_seconds() - worked
            print(f"{name:20}{wall.sum():7.1f} s, {work[0]:6.1f} s of processor time; {work[1]:5.1f} s for the rest")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{wall.sum():.0f} s in all on {jobs()} cores; the largest worker took {largest:.0f} MiB")
    return {"corel5k_s": round(wall.sum(), 1), "one_percent_more": round(work[1] / work[0], 4)}


def processor_seconds() -> float:
    """Of this process and its children that have ended."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


if __name__ == "__main__":
    main()
