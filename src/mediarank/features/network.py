"""A pretrained network as a feature family: the outputs of its last layers for a picture.

1. The region is resized to a square of `side` pixels by Pillow's bicubic filter.
2. (pixels − mean) / deviation, channels first.
3. The network runs once (twice if `mirrored`), and a layer is read: the mean over its last map (`pooled`), the
   shares of its classes (`probabilities`), or the means over the map and its four quarters (`spatial_pyramid`).

The default network is EfficientNet-Lite0, trained on ImageNet; `model` may be the path of any ONNX file with its hash.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from pydantic import Field

from mediarank.features import efficientnet_lite0, network_model
from mediarank.features.base import ImageExtractor, Picture, Positive, fingerprint
from mediarank.features.granularity import REGIONS
from mediarank.types import ConfigError, Floats

DEFAULT: Final = "efficientnet_lite0"
Layer = Literal["pooled", "probabilities", "spatial_pyramid"]
Channels = float | tuple[float, float, float]
"""One number for all channels, or one each for red, green and blue; pixels run from 0 to 255."""


@dataclass(frozen=True)
class Network(ImageExtractor):
    """A pretrained network.

    model : efficientnet_lite0, or the path of an ONNX file
    layer : the layer that is read; see above
    side : of the square that a region is resized to, in pixels
    mirrored : also use the mirrored picture and take the mean, for twice the time
    sha256 : of the ONNX file; required for a file, and only then
    mean, deviation : pixels are scaled by them; one number, or one for each of red, green and blue
    output : the name of the ONNX file's output, if it has several
    """

    libraries: ClassVar[tuple[str, ...]] = ("onnxruntime", "pillow")
    model: str = DEFAULT
    layer: Layer = "pooled"
    side: Annotated[int, Field(ge=32, le=1024)] = 224
    mirrored: bool = False
    sha256: Annotated[str, Field(pattern="^([0-9a-fA-F]{64})?$")] = ""
    mean: Channels = 127.0
    deviation: Positive | tuple[Positive, Positive, Positive] = 128.0
    output: str | None = None

    def __post_init__(self) -> None:
        if self.model == DEFAULT:
            if self.sha256 or self.output or (self.mean, self.deviation) != (127.0, 128.0):
                raise ConfigError(
                    f"sha256, mean, deviation and output belong to an ONNX file of your own; {DEFAULT} has its own."
                )
            if self.side % efficientnet_lite0.STRIDE:
                raise ConfigError(f"{DEFAULT} needs a side that is a multiple of 32, such as 224, not {self.side}.")
        elif not self.sha256:
            raise ConfigError(
                f"{self.model!r} is neither {DEFAULT} nor an ONNX file with its hash. For a file, add `sha256:` with "
                f"what `sha256sum {self.model}` prints."
            )

    def region_names(self) -> tuple[str, ...]:
        length = self._length()
        if self.layer == "probabilities":
            return tuple(f"class{k}" for k in range(length))
        if self.layer == "pooled":
            return tuple(f"c{k}" for k in range(length))
        prefixes = [region.prefix for region in (*REGIONS["global"], *REGIONS["2x2"])]
        return tuple(f"{prefix}c{k}" for prefix in prefixes for k in range(length // len(prefixes)))

    def identity(self) -> str:
        """Also covers the network's content, wherever its file is, and the libraries that run it."""
        mine = {k: v for k, v in asdict(self).items() if k not in ("pool", "model", "sha256", "folder")}
        content = self.sha256.lower() or f"{network_model.WEIGHTS_SHA256}:{efficientnet_lite0.VERSION}"
        versions = [f"{library}={version(library)}" for library in self.libraries]
        return fingerprint(Network.__name__, self.version, mine, content, versions)

    def extract_region(self, picture: Picture) -> Floats:
        square = self.prepared(picture)
        vector = self._run(square)
        if self.mirrored:
            vector = ((vector + self._run(np.ascontiguousarray(square[..., ::-1]))) / 2).astype(np.float32)
        return self._classified(vector) if self._has_classifier() else vector

    def basis(self) -> Network | None:
        """Class probabilities follow from pooled features, so using both types runs the network once."""
        return replace(self, layer="pooled") if self._has_classifier() else None

    def from_basis(self, vector: Floats) -> Floats:
        regions = vector.reshape(-1, efficientnet_lite0.CHANNELS)
        return np.concatenate([self._classified(region) for region in regions])

    def prepared(self, picture: Picture) -> Floats:
        """The (1, 3, side, side) float32 input of the network."""
        from PIL import Image

        square = Image.fromarray(picture).resize((self.side, self.side), Image.Resampling.BICUBIC)
        pixels = np.asarray(square, dtype=np.float32)
        scaled = (pixels - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None], dtype=np.float32)

    def kept_in(self, folder: Path) -> Network:
        """The same network, whose graph is built once and kept in a folder."""
        return _KeptNetwork(**{field.name: getattr(self, field.name) for field in fields(Network)}, folder=folder)

    def _graphs(self) -> Path | None:
        return None

    def _has_classifier(self) -> bool:
        return self.model == DEFAULT and self.layer == "probabilities"

    def _classified(self, pooled: Floats) -> Floats:
        session = network_model.default_session(None, self._graphs())
        return np.asarray(session.run(["probabilities"], {"pooled": pooled[None]})[0][0], dtype=np.float32)

    def _run(self, square: Floats) -> Floats:
        if self.model == DEFAULT:
            session = network_model.default_session(self.side, self._graphs())
            layer = "pooled" if self._has_classifier() else self.layer
            return np.asarray(session.run([layer], {"picture": square})[0][0], dtype=np.float32)
        session = network_model.own_session(Path(self.model), self.sha256)
        source = network_model.input_of(session, self.side, self.model)
        target = network_model.output_of(session, self.output, self.model)
        return _layer(np.asarray(session.run([target], {source: square})[0]), self.layer, self.model)

    def _length(self) -> int:
        if self.model != DEFAULT:
            return _probed(self)
        lengths = {"pooled": efficientnet_lite0.CHANNELS, "probabilities": efficientnet_lite0.CLASSES}
        return lengths.get(self.layer, 5 * efficientnet_lite0.CHANNELS)


@lru_cache(maxsize=8)
def _probed(network: Network) -> int:
    """How many numbers a user's ONNX file gives, measured on one grey picture."""
    return len(network._run(network.prepared(np.full((8, 8, 3), 128, np.uint8))))


@dataclass(frozen=True)
class _KeptNetwork(Network):
    """A network with the folder that keeps its graph; processes that work in parallel get this."""

    folder: Path | None = None

    def _graphs(self) -> Path | None:
        return self.folder


def _layer(values: Floats, layer: Layer, what: str) -> Floats:
    """The values of `layer` from the output of an ONNX file: a row (1, d), or a map (1, channels, height, width)."""
    if values.dtype != np.float32 or values.ndim not in (2, 4) or len(values) != 1 or values.size == 0:
        raise ConfigError(
            f"The output of {what} is {values.dtype} {values.shape}; a network must give float32 (1, d) or (1, "
            "channels, height, width). Name another one as `output`."
        )
    if layer == "probabilities":
        if values.ndim == 4:
            raise ConfigError(f"{what} gives a map, not one number per class: choose the layer pooled.")
        shares = np.exp(values[0].astype(np.float64) - values[0].max())
        return np.asarray(shares / shares.sum(), dtype=np.float32)
    if layer == "pooled":
        return values[0] if values.ndim == 2 else _mean(values[0])
    if values.ndim == 2:
        raise ConfigError(f"{what} gives one row, not a map: choose the layer pooled, or name a map as `output`.")
    _, height, width = values[0].shape
    rows, columns = -(-height // 2), -(-width // 2)
    quarters = [
        _mean(values[0][:, top, left])
        for top in (slice(0, rows), slice(height - rows, height))
        for left in (slice(0, columns), slice(width - columns, width))
    ]
    return np.concatenate([_mean(values[0]), *quarters])


def _mean(feature_map: Floats) -> Floats:
    """(channels,) float32, of (channels, height, width)."""
    return np.asarray(feature_map.mean(axis=(1, 2), dtype=np.float64), dtype=np.float32)
