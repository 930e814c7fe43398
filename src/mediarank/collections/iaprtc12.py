"""IAPR TC-12: 19,627 photographs of travellers with keywords, as JSON lists for training and test.

The layout is that of `keyword_lists`; lists of this kind without "esp" in a name belong to it.
"""

from __future__ import annotations

from pathlib import Path

from mediarank.collections.keyword_lists import is_keyword_lists, read_keyword_lists
from mediarank.collections.listing import Listing


def recognises(folder: Path) -> bool:
    return is_keyword_lists(folder)


def read(folder: Path) -> Listing:
    return read_keyword_lists(folder)
