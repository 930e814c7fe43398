"""Results in order: from the cache if it has them, otherwise computed on all cores."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from mediarank.fanout import fan_out_iter
from mediarank.features.cache import FeatureCache
from mediarank.features.units import held
from mediarank.types import Floats

Job = TypeVar("Job")

_BLOCK = 1024
_BLOCK_BYTES = 8 << 20
"""Results read from the cache at a time: more of them, if they stay below this size, `_OWN_BYTES` each added. Larger
blocks take longer: they are read into fresh memory."""
_OWN_BYTES = 256
_SECONDS = 15.0
"""Between two writes to the cache: a killed run loses at most these, and what workers were at."""


def remembered(
    what: str,
    keys: Sequence[str],
    job: Callable[[int], Job],
    function: Callable[[Job], Floats],
    cache: FeatureCache | None,
) -> Iterator[Floats]:
    """`function(job(k))` for each key, as a flat array, in order; for equal keys it is done once.

    what : shown by the progress bar and the statistics of the cache
    keys : from `cache_key`
    job : the work for the key with this number, asked for only if the cache does not know the key
    Consume it to the end: new results are written to the cache block by block.
    """
    known = cache.known(keys) if cache else set()
    missing = {key: job(k) for k, key in enumerate(keys) if key not in known}
    fresh = fan_out_iter(function, list(missing.values()), what, carry=held)
    repeated = {key for key, count in Counter(keys).items() if count > 1}
    seen: dict[str, Floats] = {}
    written = time.monotonic()
    stop, largest = 0, _BLOCK_BYTES
    while stop < len(keys):
        start, stop = stop, stop + max(_BLOCK, _BLOCK_BYTES // largest)
        block = keys[start:stop]
        found = cache.get(key for key in block if key in known) if cache else {}
        new: dict[str, Floats] = {}
        for k, key in enumerate(block, start):
            if key in seen:
                result = seen[key]
            elif key in found:
                result = found[key]
            else:
                # an entry that was known but is missing was damaged, or evicted by another process
                result = new[key] = (next(fresh) if key in missing else function(job(k))).ravel()
            if key in repeated:
                seen[key] = result
            if cache and time.monotonic() > written + _SECONDS:
                cache.put(what, new)
                new, written = {}, time.monotonic()
            yield result
        largest = max((result.nbytes + _OWN_BYTES for result in found.values()), default=_BLOCK_BYTES)
        if cache:
            cache.put(what, new)
            written = time.monotonic()
