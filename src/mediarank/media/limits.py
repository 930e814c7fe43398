"""Limits on what one media file may need. Declared sizes are checked before memory is allocated for them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from mediarank.media.faults import blame_machine
from mediarank.media.files import File, Slice
from mediarank.types import MediaError, OverLimit


@dataclass(frozen=True)
class Limits:
    """What a file may declare, and what decoding it may cost, before it is refused.

    max_bytes : of the file
    max_pixels : of an image or of one frame of a clip; Pillow accepts no more than the upper bound given here
    max_seconds : of a clip or sound
    max_frames : of a clip
    timeout_seconds : for decoding one file; a decoder that takes longer is ended (see `guard`)
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    max_bytes: Annotated[int, Field(gt=0)] = 4 * 1024**3
    max_pixels: Annotated[int, Field(gt=0, le=178_956_970)] = 100_000_000
    max_seconds: Annotated[float, Field(gt=0)] = 3600.0
    max_frames: Annotated[int, Field(gt=0)] = 400_000
    timeout_seconds: Annotated[float, Field(gt=0)] = 300.0

    def check_file(self, path: File) -> None:
        """Refuse a path that is not a file, is empty or is too large, without opening it (a pipe would block)."""
        if not isinstance(path, Path):
            self._check_length(path.length if isinstance(path, Slice) else len(path.content))
            return
        try:
            status = path.stat()
        except OSError as error:
            blame_machine(error)
            raise MediaError(f"The file can't be read ({error.strerror}).") from None
        if not stat.S_ISREG(status.st_mode):
            raise MediaError("This is not a regular file.")
        if not os.access(path, os.R_OK):
            raise MediaError("The file can't be read; give yourself permission to read it (chmod u+r).")
        self._check_length(status.st_size)

    def _check_length(self, length: int) -> None:
        if length == 0:
            raise MediaError("The file is empty (0 bytes); copy it again from its source.")
        if length > self.max_bytes:
            raise OverLimit(f"The file has {length:,} bytes, more than max_bytes allows ({self.max_bytes:,}).")

    def check_pixels(self, width: int, height: int) -> None:
        if width <= 0 or height <= 0:
            raise MediaError(f"Its header declares {width} × {height} pixels; the file is damaged.")
        if width * height > self.max_pixels:
            raise OverLimit(
                f"Its header declares {width} × {height} pixels, more than max_pixels allows ({self.max_pixels:,})."
            )

    def check_seconds(self, seconds: float) -> None:
        if seconds > self.max_seconds:
            raise OverLimit(f"It lasts {seconds:,.0f} s, more than max_seconds allows ({self.max_seconds:,.0f} s).")

    def check_frames(self, frames: int) -> None:
        if frames > self.max_frames:
            raise OverLimit(f"It has over {self.max_frames:,} frames, which is all that max_frames allows.")
