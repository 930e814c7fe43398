"""Draw what each family sees: one figure for an image, and for its sound if it has one.

`explain` arranges the panels; below it is one small function per panel, which draws the values that its family's
functions return, so that the figure shows the feature itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mediarank.features.base import Picture, require_picture
from mediarank.features.colour_histogram import LabHistogram
from mediarank.features.colour_space import SPACES
from mediarank.features.gabor import GaborBank
from mediarank.features.gist import Gist
from mediarank.features.hog import Hog
from mediarank.features.hue import Hue
from mediarank.features.lbp import pattern_codes, uniform_bins
from mediarank.features.local_points import harris_points
from mediarank.features.mfcc import Mfcc, Sound, mel_decibels
from mediarank.features.pixels import grey, resized
from mediarank.types import Floats

_COLUMNS: Final = 4


def explain(image: Picture, sound: Sound | None = None) -> Figure:
    """A figure with one panel per family; the last two appear only with a sound."""
    picture = require_picture(image)
    panels: list[tuple[str, Callable[[Axes], None]]] = [
        ("Picture", lambda axes: _draw_picture(axes, picture)),
        ("Colour histogram (LAB)", lambda axes: _draw_colours(axes, picture)),
        ("HOG cells", lambda axes: _draw_hog(axes, picture)),
        ("LBP map", lambda axes: _draw_lbp(axes, picture)),
        ("Gabor energy", lambda axes: _draw_gabor(axes, picture)),
        ("GIST blocks", lambda axes: _draw_gist(axes, picture)),
        ("Harris points", lambda axes: _draw_points(axes, picture)),
        ("Hue, summed over patches", lambda axes: _draw_hues(axes, picture)),
    ]
    if sound is not None:
        panels.append(("Mel spectrogram (dB)", lambda axes: _draw_spectrogram(axes, sound)))
        panels.append(("MFCC", lambda axes: _draw_mfcc(axes, sound)))
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(3.2 * _COLUMNS, 3.2 * rows), layout="constrained")
    for place, (title, draw) in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, _COLUMNS, place)
        axes.set_title(title, fontsize=10)
        draw(axes)
    return figure


def _draw_picture(axes: Axes, picture: Picture) -> None:
    axes.imshow(picture)
    axes.set_axis_off()


def _draw_colours(axes: Axes, picture: Picture) -> None:
    """The fullest bins as bars, in the colour at their middle."""
    family = LabHistogram(curved=False)
    shares = family.extract(picture)
    fullest = np.argsort(-shares, kind="stable")[:24]
    fullest = fullest[shares[fullest] > 0]
    index = np.stack(np.unravel_index(fullest, family.bins), axis=1)
    ranges = np.array(SPACES[family.space].ranges)
    middles = ranges[:, 0] + (index + 0.5) / np.array(family.bins) * (ranges[:, 1] - ranges[:, 0])
    colours = cv2.cvtColor(middles.astype(np.uint8)[None], cv2.COLOR_LAB2RGB)[0] / 255
    axes.bar(np.arange(len(fullest)), shares[fullest], color=list(map(tuple, colours)), edgecolor="0.4", linewidth=0.5)
    axes.set_xticks([])
    axes.set_ylabel("share of pixels")


def _draw_hog(axes: Axes, picture: Picture) -> None:
    """In each cell a line along every edge direction, as bright as the cell's gradients across it."""
    family = Hog(block=1, cell=8)
    cells = family.window // family.cell
    # OpenCV's order is column by column
    strengths = family.extract(picture).reshape(cells, cells, family.bins).transpose(1, 0, 2)
    axes.imshow(resized(grey(picture), family.window, family.window), cmap="gray", alpha=0.35)
    angles = (np.arange(family.bins) + 0.5) * np.pi / family.bins + np.pi / 2
    y, x, o = np.nonzero(strengths > 0.15)
    middle = np.stack([x, y], axis=1) * family.cell + (family.cell - 1) / 2
    half = np.stack([np.cos(angles[o]), np.sin(angles[o])], axis=1) * family.cell / 2
    lines = LineCollection(list(np.stack([middle - half, middle + half], axis=1)), linewidths=0.8)
    lines.set_array(strengths[y, x, o])
    lines.set_cmap("viridis")
    axes.add_collection(lines)
    axes.set_axis_off()


def _draw_lbp(axes: Axes, picture: Picture) -> None:
    """Each pixel in the colour of its pattern's number of ones; patterns that are not uniform are last."""
    table, _ = uniform_bins(True)
    axes.imshow(table[pattern_codes(grey(picture), 1.0)], cmap="nipy_spectral", interpolation="nearest")
    axes.set_axis_off()


def _draw_gabor(axes: Axes, picture: Picture) -> None:
    """Mean magnitude of every filter over the picture."""
    family = GaborBank(cells=1)
    means = family.extract(picture)[: family.scales * family.orientations]
    axes.imshow(means.reshape(family.scales, family.orientations), cmap="magma", aspect="auto")
    axes.set_xlabel("orientation")
    axes.set_ylabel("scale, fine to coarse")


def _draw_gist(axes: Axes, picture: Picture) -> None:
    """In each block a small image: scales down, orientations across."""
    family = Gist()
    shape = (family.scales, family.orientations, family.blocks, family.blocks)
    energy = family.extract(picture).reshape(shape).transpose(2, 0, 3, 1)
    axes.imshow(energy.reshape(family.blocks * family.scales, -1), cmap="magma", aspect="auto")
    for block in range(1, family.blocks):
        axes.axhline(block * family.scales - 0.5, color="white", linewidth=0.8)
        axes.axvline(block * family.orientations - 0.5, color="white", linewidth=0.8)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_points(axes: Axes, picture: Picture) -> None:
    points = harris_points(grey(picture), 200, (16,))
    axes.imshow(picture, alpha=0.6)
    axes.plot(points[:, 1], points[:, 0], "+", color="red", markersize=4)
    axes.set_axis_off()


def _draw_hues(axes: Axes, picture: Picture) -> None:
    family = Hue()
    sums: Floats = np.square(family.describe(picture).values).sum(axis=0)
    # the family's angle is that of the opponent colours: show each bin in the colour it stands for
    angle = np.arange(family.bins) * 2 * np.pi / family.bins
    first, second = np.sin(angle) / np.sqrt(2), np.cos(angle) / np.sqrt(6)
    colours = np.clip(0.5 + 0.45 * np.stack([first + second, second - first, -2 * second], axis=1), 0, 1)
    axes.bar(np.arange(family.bins), sums, width=1.0, color=list(map(tuple, colours)))
    axes.set_xticks([])
    axes.set_xlabel("hue")


def _draw_spectrogram(axes: Axes, sound: Sound) -> None:
    family = Mfcc()
    decibels = mel_decibels(sound, family.sample_rate, family.window, family.hop, family.mels)
    seconds = len(decibels) * family.hop / family.sample_rate
    axes.imshow(decibels.T, origin="lower", aspect="auto", cmap="magma", extent=(0, seconds, 0, family.mels))
    axes.set_xlabel("seconds")
    axes.set_ylabel("mel filter")


def _draw_mfcc(axes: Axes, sound: Sound) -> None:
    family = Mfcc()
    cepstrum = family.describe(sound).values[:, :13]
    spread = np.maximum(cepstrum.std(axis=0), 1e-6)
    seconds = len(cepstrum) * family.hop / family.sample_rate
    scaled = ((cepstrum - cepstrum.mean(axis=0)) / spread).T
    axes.imshow(scaled, origin="lower", aspect="auto", cmap="coolwarm", vmin=-2, vmax=2, extent=(0, seconds, 0, 13))
    axes.set_xlabel("seconds")
    axes.set_ylabel("coefficient")
