"""The known sources, and the configuration that chooses one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from mediarank.collections import demo
from mediarank.collections.demo import DemoConfig
from mediarank.collections.listing import Listing, link_into
from mediarank.types import ConfigError, Labels

COLLECTIONS: Mapping[str, Callable[[Path], Listing]] = {}
"""Sources that read a folder, by name; `demo` is the one that needs none."""


@dataclass(frozen=True)
class CollectionConfig:
    """source : `demo`, or a name in COLLECTIONS; path : the source's folder (for the demo, its generator's code)"""

    source: str = "demo"
    path: str = "src/mediarank/collections/demo"
    demo: DemoConfig = field(default_factory=DemoConfig)
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


def collect(config: CollectionConfig, media: Path) -> Labels:
    """Put the collection's media below `media`, which is empty, and return its labels."""
    if config.source == "demo":
        return demo.generate(config.demo, media)
    if config.source not in COLLECTIONS:
        raise ConfigError(f"collection.source {config.source!r} is unknown; known are demo, {', '.join(COLLECTIONS)}.")
    folder = Path(config.path)
    if not folder.is_dir():
        raise ConfigError(f"collection.path {config.path!r} is not a folder.")
    listing = COLLECTIONS[config.source](folder)
    link_into(listing, media)
    return listing.labels
