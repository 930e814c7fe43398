"""Colours of cloth and paint that props share."""

from __future__ import annotations

from mediarank.collections.demo.paint.light import Colour

BRIGHT: tuple[Colour, ...] = (
    (0.86, 0.16, 0.16),
    (0.95, 0.72, 0.12),
    (0.16, 0.42, 0.74),
    (0.93, 0.93, 0.90),
    (0.30, 0.62, 0.30),
    (0.85, 0.42, 0.12),
    (0.56, 0.24, 0.60),
)
