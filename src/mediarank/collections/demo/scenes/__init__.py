"""The eight scenes, by class; each paints a canvas back to front around its cast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.props.cast import Cast
from mediarank.collections.demo.scenes.coast import coast
from mediarank.collections.demo.scenes.field import field
from mediarank.collections.demo.scenes.forest import forest
from mediarank.collections.demo.scenes.highway import highway
from mediarank.collections.demo.scenes.interior import interior
from mediarank.collections.demo.scenes.mountain import mountain
from mediarank.collections.demo.scenes.skyline import skyline
from mediarank.collections.demo.scenes.street import street

SCENES: Final[Mapping[str, Callable[[Canvas, Cast], None]]] = {
    "coast": coast,
    "field": field,
    "forest": forest,
    "highway": highway,
    "interior": interior,
    "mountain": mountain,
    "skyline": skyline,
    "street": street,
}
