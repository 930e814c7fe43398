"""A stream of results in order: from the cache where it has them, computed on all cores where it has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from mediarank.fanout import fan_out_iter
from mediarank.features.cache import FeatureCache
from mediarank.types import Floats

Job = TypeVar("Job")

_BLOCK = 1024
"""Results between two visits to the cache: what a killed run can lose at most."""


def remembered(
    what: str, keys: Sequence[str], jobs: Sequence[Job], function: Callable[[Job], Floats], cache: FeatureCache | None
) -> Iterator[Floats]:
    """`function(job)` for each job, as a flat array, in order; jobs of equal keys are done once.

    what : a word for the progress bar and the cache's statistics
    keys : one a job, from `cache_key`
    Take all of it: new results reach the cache block by block as the stream is consumed.
    """
    known = cache.known(keys) if cache else set()
    missing = {key: job for key, job in zip(keys, jobs, strict=True) if key not in known}
    fresh = fan_out_iter(function, list(missing.values()), what)
    repeated = {key for key, count in Counter(keys).items() if count > 1}
    seen: dict[str, Floats] = {}
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        found = cache.get(key for key in block if key in known) if cache else {}
        new: dict[str, Floats] = {}
        for key, job in zip(block, jobs[start : start + _BLOCK], strict=True):
            if key in seen:
                result = seen[key]
            elif key in found:
                result = found[key]
            else:
                # an entry that was known but could not be got was damaged, or evicted by another process meanwhile
                result = new[key] = (next(fresh) if key in missing else function(job)).ravel()
            if key in repeated:
                seen[key] = result
            yield result
        if cache:
            cache.put(what, new)
