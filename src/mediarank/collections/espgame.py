"""ESP game: 20,770 pictures from the web with the words that players agreed on, as JSON lists for training and test.

The layout is that of `keyword_lists`; the folder or its lists have "esp" in their names.
"""

from __future__ import annotations

from pathlib import Path

from mediarank.collections.keyword_lists import is_keyword_lists, mentions, read_keyword_lists
from mediarank.collections.listing import Listing


def recognises(folder: Path) -> bool:
    return is_keyword_lists(folder) and mentions(folder, "esp")


def read(folder: Path) -> Listing:
    return read_keyword_lists(folder)
