"""Where local descriptors are computed: on a dense grid or at Harris corners, at several patch sizes.

`LocalImageExtractor` is the shared base of SIFT and hue: it finds the points and leaves the describing to its family.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import Field

from mediarank.features.base import Count, Descriptors, LocalExtractor, Modality, Picture, require_picture
from mediarank.features.pixels import grey, resized
from mediarank.types import ConfigError, Floats

Points = npt.NDArray[np.float32]
"""(n, 3) float32: down, across (in pixels), and the side of the patch."""
Patch = Annotated[int, Field(ge=4, le=128)]
_SMALLEST = 32
_FAINT = 1e-4
"""A corner must have at least this share of the strongest corner's strength."""


@dataclass(frozen=True)
class LocalImageExtractor(LocalExtractor):
    """The base of SIFT and hue.

    sampling : `dense` takes every `step` pixels, `harris` the `points` strongest corners
    patches : sides of the patches described, in pixels; each is sampled separately
    """

    modality: ClassVar[Modality] = "image"
    sampling: Literal["dense", "harris"] = "dense"
    step: Count = 8
    points: Count = 400
    patches: tuple[Patch, ...] = (16, 32)

    def __post_init__(self) -> None:
        if not self.patches:
            raise ConfigError(f"{type(self).__name__} needs at least one patch size, such as patches: [16].")

    @abstractmethod
    def describe_points(self, picture: Picture, points: Points) -> Floats:
        """(len(points), d) float32, one row per point."""

    def describe(self, medium: Picture) -> Descriptors:
        picture = require_picture(medium)
        height, width = picture.shape[:2]
        # a picture smaller than a patch is enlarged, so that it is described too
        picture = resized(picture, max(height, _SMALLEST), max(width, _SMALLEST))
        if self.sampling == "dense":
            points = dense_points(picture.shape[0], picture.shape[1], self.step, self.patches)
        else:
            points = harris_points(grey(picture), self.points, self.patches)
        places = points[:, :2] / np.array(picture.shape[:2], dtype=np.float32)
        values = self.describe_points(picture, points)
        return Descriptors(values, places.astype(np.float32))


def dense_points(height: int, width: int, step: int, patches: tuple[int, ...]) -> Points:
    """A centred grid of patch centres, as many as fit; a patch that does not fit is centred in the middle."""
    grids = []
    for patch in patches:
        lines = []
        for length in (height, width):
            count = max(0, length - patch) // step + 1
            first = (length - 1 - (count - 1) * step) / 2
            lines.append(first + step * np.arange(count))
        down, across = np.meshgrid(*lines, indexing="ij")
        grids.append(np.stack([down.ravel(), across.ravel(), np.full(down.size, patch)], axis=1))
    return np.concatenate(grids).astype(np.float32)


def harris_points(levels: npt.NDArray[np.uint8], count: int, patches: tuple[int, ...]) -> Points:
    """The strongest corners of each patch size, at most `count` in all; the detector's scale follows the patch's."""
    found = []
    for patch in patches:
        sigma = patch / 8
        smooth = cv2.GaussianBlur(levels.astype(np.float32), (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
        window = 2 * round(sigma) + 1
        response = cv2.cornerHarris(smooth, window, 3, 0.04, borderType=cv2.BORDER_REPLICATE)
        peak = response == cv2.dilate(response, np.ones((3, 3), np.uint8))
        strong = response > max(_FAINT * float(response.max()), 1e-6)
        down, across = np.nonzero(peak & strong)
        # strongest first; equal ones in reading order, so that the choice does not depend on the sort
        order = np.argsort(-response[down, across], kind="stable")[: -(-count // len(patches))]
        found.append(np.stack([down[order], across[order], np.full(len(order), patch)], axis=1))
    return np.concatenate(found).astype(np.float32)
