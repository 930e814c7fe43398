"""The preview inside a camera's RAW file, by the optional package `rawpy` (LibRaw).

Developing RAW data is a matter of taste; the preview is what the camera showed, and is enough for ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mediarank.media.faults import faults_of_file, words_of
from mediarank.media.files import File
from mediarank.types import MediaError, UnsupportedMedia

NEEDS_RAWPY: Final = (
    "Camera RAW files need the package rawpy: install it with `pip install 'mediarank[raw]'`, or add JPEG copies."
)
_QUARTER_TURNS: Final = {3: 2, 5: 1, 6: 3}
"""LibRaw's `flip` -> number of counter-clockwise turns by 90°."""


@dataclass(frozen=True)
class Preview:
    """A preview as an image file.

    data : bytes of an image file that Pillow can open
    quarter_turns : number of counter-clockwise turns by 90°
    """

    data: bytes
    quarter_turns: int


def raw_preview(path: File) -> Preview:
    """The preview of a RAW file. Raises UnsupportedMedia if rawpy is missing or the file has no preview."""
    try:
        import rawpy
    except ImportError:
        raise UnsupportedMedia(NEEDS_RAWPY) from None
    with faults_of_file():
        try:
            with path.open("rb") as file, rawpy.imread(file) as raw:
                flip = int(raw.sizes.flip)
                thumb = raw.extract_thumb()
        except (rawpy.LibRawNoThumbnailError, rawpy.LibRawUnsupportedThumbnailError):
            raise UnsupportedMedia("This RAW file holds no preview that can be read; save a JPEG copy of it.") from None
        except rawpy.LibRawFileUnsupportedError:
            raise UnsupportedMedia("LibRaw does not know this camera's RAW files; save a JPEG copy.") from None
        except rawpy.LibRawError as error:
            raise MediaError(f"Its RAW data can't be read ({words_of(error)}); the file is damaged.") from None
        if thumb.format == rawpy.ThumbFormat.JPEG:
            return Preview(bytes(thumb.data), 0)  # LibRaw gives it an orientation if it has none
        return Preview(_as_ppm(thumb.data), _QUARTER_TURNS.get(flip, 0))


def _as_ppm(pixels: object) -> bytes:
    """An uncompressed preview, (H, W, 3) uint8, as the plainest image file format."""
    import numpy as np

    array = np.ascontiguousarray(np.asarray(pixels, dtype=np.uint8))
    if array.ndim != 3 or array.shape[2] != 3:
        raise UnsupportedMedia("The preview of this RAW file is of an unusual kind; save a JPEG copy of it.")
    height, width = array.shape[:2]
    return b"P6 %d %d 255\n" % (width, height) + array.tobytes()
