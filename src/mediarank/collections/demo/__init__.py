"""The demo collection: drawn scenes and filmed events with all five kinds of labels, generated from one seed.

`plan.py` decides the content of every item, `pictures.py` and `clips.py` make one item each, `production.py` makes them
all and writes the labels. Drawing is in layers, each built on those before: `paint/` (textures, light, canvas, pen,
camera), `elements/` (land, trees, town, vehicles, furniture), `props/` (the things that concepts name, and their
look-alikes), `scenes/` (one per class); for clips, also sprites, actions and sounds. The tables that define the labels
are `vocabulary.py`, `events.py` and `damaged.py`.
"""

from __future__ import annotations

from pathlib import Path

from mediarank.collections.demo.damaged import DAMAGED, MISSING
from mediarank.collections.demo.events import EVENTS
from mediarank.collections.demo.plan import DemoConfig
from mediarank.collections.demo.vocabulary import ATTRIBUTES, CLASSES, CONCEPTS
from mediarank.labels import Labels

__all__ = ["ATTRIBUTES", "CLASSES", "CONCEPTS", "DAMAGED", "EVENTS", "MISSING", "DemoConfig", "generate"]


def generate(config: DemoConfig, media: Path) -> Labels:
    """Write all pictures and clips below the folder `media`, and return their labels.

    The same configuration always gives the same bytes, however many processes share the work.
    """
    # Imported here, so that reading the configuration does not load OpenCV and PyAV.
    from mediarank.collections.demo.production import produce

    return produce(config, media)
