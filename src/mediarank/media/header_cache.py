"""What the headers of originals say; those that were parsed before come from a cache, found by content.

Every original is read and compared with its fingerprint all the same, so that a damaged one is noticed. Only headers
that could be parsed are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from mediarank.content_cache import ContentCache
from mediarank.media.confine import Confinement
from mediarank.media.files import File, Slice, undamaged
from mediarank.media.guard import Failed, guarded_iter
from mediarank.media.limits import Limits

VERSION: Final = 1
"""Raise it whenever a change alters what is found in a header."""
_BLOCK: Final = 4096

Facts = dict[str, Any]


def headers(
    jobs: Sequence[tuple[str, File]],
    inspect: Callable[[tuple[str, File]], Facts],
    known_again: Callable[[Facts], bool],
    limits: Limits,
    confinement: Confinement,
    cache: ContentCache | None,
) -> list[Facts | Failed]:
    """`inspect(job)` of each (item, file), in order, or why it failed; unknown headers are parsed in guarded children.

    inspect : gives facts that JSON can hold, of which `item_id` and `path` are the item's name
    known_again : whether facts may be kept
    """
    settings = json.dumps(asdict(limits), sort_keys=True)
    keys = [_key(file, settings) if cache and isinstance(file, Slice) else "" for _, file in jobs]
    found: dict[int, Facts | Failed] = dict(_kept(jobs, keys, cache)) if cache else {}
    missing = [place for place in range(len(jobs)) if place not in found]
    fresh = guarded_iter(
        inspect, [jobs[place] for place in missing], "manifest", limits.timeout_seconds, confinement=confinement
    )
    new: dict[str, bytes] = {}
    for place, outcome in zip(missing, fresh, strict=True):
        found[place] = outcome
        if keys[place] and not isinstance(outcome, Failed) and known_again(outcome):
            new[keys[place]] = _packed(outcome)
        if cache and (len(new) >= _BLOCK or place == missing[-1]):
            cache.write("headers", new)
            new = {}
    return [found[place] for place in range(len(jobs))]


def _kept(jobs: Sequence[tuple[str, File]], keys: Sequence[str], cache: ContentCache) -> Iterator[tuple[int, Facts]]:
    """(place, facts) of the jobs whose header is known and whose file is undamaged."""
    for start in range(0, len(jobs), _BLOCK):
        block = range(start, min(start + _BLOCK, len(jobs)))
        known = cache.read(keys[place] for place in block if keys[place])
        places = [place for place in block if keys[place] in known]
        facts = json.loads(b"[" + b",".join(known[keys[place]] for place in places) + b"]")  # faster than one by one
        intact = undamaged(jobs[place][1] for place in places)
        for place, whole, own in zip(places, intact, facts, strict=True):
            if whole:
                item = jobs[place][0]
                yield place, {"item_id": item, "path": item, **own}


def _key(file: Slice, settings: str) -> str:
    """The content decides, except for RAW files, which are recognised by name."""
    return hashlib.sha256(f"header {VERSION}:{file.suffix.lower()}:{file.sha256}:{settings}".encode()).hexdigest()


def _packed(facts: Mapping[str, Any]) -> bytes:
    return json.dumps({name: value for name, value in facts.items() if name not in ("item_id", "path")}).encode()
