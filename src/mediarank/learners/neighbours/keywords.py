"""The keywords of labelled images in the three forms that learners need.

Rows of 0 and 1, the words of an image, and the images of a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mediarank.types import DataError, Floats

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Keywords:
    """words : the vocabulary; rows : (images, words) 0/1 float32"""

    words: tuple[str, ...]
    rows: Floats

    @classmethod
    def of(cls, items: Sequence[str], words_of: Mapping[str, Set[str]], vocabulary: Sequence[str]) -> Keywords:
        """Words outside the vocabulary are left out; an item may be without words."""
        column = {word: number for number, word in enumerate(vocabulary)}
        rows = np.zeros((len(items), len(vocabulary)), dtype=np.float32)
        for place, item in enumerate(items):
            for word in words_of.get(item, ()):
                if word in column:
                    rows[place, column[word]] = 1
        return cls(tuple(vocabulary), rows)

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.shape[1] != len(self.words):
            raise DataError(f"{len(self.words)} words can't describe keyword rows of shape {self.rows.shape}.")

    def __len__(self) -> int:
        return len(self.rows)

    def restricted_to(self, places: npt.NDArray[np.intp]) -> Keywords:
        return Keywords(self.words, self.rows[places])

    def of_words(self, columns: npt.NDArray[np.intp]) -> Keywords:
        """The same images with some of the words."""
        return Keywords(tuple(self.words[column] for column in columns.tolist()), self.rows[:, columns])

    @cached_property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """|L_w|: in how many images each word occurs."""
        return np.asarray(self.rows.sum(axis=0, dtype=np.float64))

    @cached_property
    def by_image(self) -> tuple[Places, Places]:
        """(starts, words): the words of image i are words[starts[i]:starts[i + 1]]."""
        return _lists(self.rows)

    @cached_property
    def by_word(self) -> tuple[Places, Places]:
        """(starts, images): the images of word w are images[starts[w]:starts[w + 1]]."""
        return _lists(self.rows.T)


def _lists(rows: Floats) -> tuple[Places, Places]:
    first, second = np.nonzero(rows)
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=len(rows)))])
    return starts.astype(np.int64), second.astype(np.int64)
