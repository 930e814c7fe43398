"""2PKNN: two passes over the neighbours, so that rare words get a chance (Verma & Jawahar 2012).

The first pass takes the few nearest images of every word; in the second, those images vote for their words with
weights that fall off with distance. A frequent word selects no more voters than a rare one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from mediarank.learners.neighbours.keywords import Keywords
from mediarank.similarity.row_blocks import for_blocks
from mediarank.types import DataError, Floats

BLOCK = 64


def two_pass_relevance(similarity: Floats, keywords: Keywords, per_word: int, sharpness: float) -> Floats:
    """(queries, words) scores from (queries, images) similarities; −inf marks images that must not vote.

    per_word : images of each word that the first pass keeps, K₁
    sharpness : a vote weighs `exp(sharpness · (s − s₁))`, where s₁ is the nearest image's similarity
    """
    if per_word < 1:
        raise DataError(f"2PKNN keeps at least one image per word, not {per_word}.")
    if similarity.shape[1] != len(keywords):
        raise DataError(f"Similarities to {similarity.shape[1]} images don't fit {len(keywords)} images with keywords.")
    votes = np.zeros((len(similarity), len(keywords.words)))

    def fill(rows: slice) -> None:
        _two_passes(similarity[rows], *keywords.by_image, *keywords.by_word, per_word, sharpness, votes[rows])

    for_blocks(fill, len(similarity), BLOCK)
    return votes.astype(np.float32)


@njit(cache=True, nogil=True)
def _two_passes(
    similarity: Any,
    word_starts: Any,
    words: Any,
    image_starts: Any,
    images: Any,
    per_word: int,
    sharpness: float,
    votes: Any,
) -> None:
    chosen = np.zeros(similarity.shape[1], dtype=np.bool_)
    nearest = np.zeros(per_word, dtype=np.int64)
    for q in range(similarity.shape[0]):
        s = similarity[q]
        best = -np.inf
        chosen[:] = False
        for w in range(len(image_starts) - 1):
            count = 0
            for at in range(image_starts[w], image_starts[w + 1]):
                image = images[at]
                if s[image] == -np.inf:
                    continue
                # insert into the few nearest so far; of equal ones the earlier stays first
                place = count
                while place > 0 and s[image] > s[nearest[place - 1]]:
                    if place < per_word:
                        nearest[place] = nearest[place - 1]
                    place -= 1
                if place < per_word:
                    nearest[place] = image
                    count = min(count + 1, per_word)
            for n in range(count):
                chosen[nearest[n]] = True
                best = max(best, s[nearest[n]])
        for image in range(len(s)):
            if chosen[image]:
                weight = np.exp(sharpness * (s[image] - best))
                for at in range(word_starts[image], word_starts[image + 1]):
                    votes[q, words[at]] += weight
