"""What one request to a served model may ask for. Each limit is checked before memory is taken for what it limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from mediarank.asking.describe import Copying

MEBIBYTE: Final = 1024**2


@dataclass(frozen=True)
class ServingLimits:
    """
    max_body_bytes : of a request's body
    max_values : values in the JSON of a body: its commas and brackets are counted before it is parsed
    max_rows : queries in one request
    max_answers : rows of an answer: queries times the `count` that each asks for
    max_file_bytes : of a file, after base64
    max_pixels : of a picture or a frame
    max_seconds : of a clip or a sound
    file_seconds : processor time for decoding one file; on the clock four times that
    body_seconds : until the whole body must have come
    request_seconds : from a request's first byte to its answer, waiting for other requests included
    bodies : requests whose bodies are in memory at once; others wait
    """

    max_body_bytes: int = 32 * MEBIBYTE
    max_values: int = 1_000_000
    max_rows: int = 64
    max_answers: int = 100_000
    max_file_bytes: int = 20 * MEBIBYTE
    max_pixels: int = 40_000_000
    max_seconds: float = 120.0
    file_seconds: float = 5.0
    body_seconds: float = 10.0
    request_seconds: float = 25.0
    bodies: int = 4

    def narrowed(self, copying: Copying) -> Copying:
        """Settings of working copies that also keep to these limits."""
        given = copying.limits
        limits = replace(
            given,
            max_bytes=min(given.max_bytes, self.max_file_bytes),
            max_pixels=min(given.max_pixels, self.max_pixels),
            max_seconds=min(given.max_seconds, self.max_seconds),
            timeout_seconds=min(given.timeout_seconds, self.file_seconds),
        )
        return replace(copying, limits=limits)
