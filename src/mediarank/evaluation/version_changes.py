"""What is new between two versions, in sentences, from the summaries of their reports.

The report, the names of runs and their descriptions are made from it. Nothing but the standard library is imported: a
run that has nothing to do should not wait for pandas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

MOVED: Final = 0.2
"""A change of a name's share that is worth a sentence."""
LISTED: Final = 5

Summary = Mapping[str, Any]
"""What `report_summary.summary_of` gives; `{}` stands for no version."""


def headline(before: Summary, now: Summary) -> str:
    """What is new, in a few words: for the name of a run.

    >>> headline({}, {"items": {"image": 2}})
    'first version, 2 items'
    """
    if not before:
        return f"first version, {sum(now['items'].values()):,} items"
    if count := new_items(before, now):
        return f"{count:,} new items" if count > 1 else "1 new item"
    for sentence in changes(before, now):
        what = sentence.split(":")[0]
        return {"Items": "other items", "Labels": "new labels", "Settings": "new settings"}.get(what, "new results")
    return "nothing new"


def new_items(before: Summary, now: Summary) -> int | None:
    """How many items are new or changed; None if that is not known."""
    if not before or not now or before.get("prints") is None or now.get("prints") is None:
        return None
    old: Mapping[str, str] = before["prints"]
    new: Mapping[str, str] = now["prints"]
    return sum(old.get(item) != digest for item, digest in new.items())


def is_new(before: Summary, item: str, digest: str) -> bool:
    """Whether an item was not in the version before, or had other content."""
    return bool(before.get("prints")) and before["prints"].get(fingerprint(item)) != digest[:8]


def changes(before: Summary, now: Summary) -> list[str]:
    """What is new, in sentences; empty if the versions are the same or there is nothing to compare with."""
    if not before:
        return []
    return [*_items(before, now), *_labels(before, now), *_results(before, now), *_settings(before, now)]


def _items(before: Summary, now: Summary) -> list[str]:
    old, new = before.get("prints"), now.get("prints")
    if old is not None and new is not None:
        added = sum(item not in old for item in new)
        gone = sum(item not in new for item in old)
        other = sum(item in old and old[item] != digest for item, digest in new.items())
        parts = [f"{n:,} {word}" for n, word in ((added, "new"), (other, "changed"), (gone, "gone")) if n]
        return [f"Items: {', '.join(parts)}."] if parts else []
    counts = [
        f"{kind}s {before['items'].get(kind, 0):,} → {now['items'].get(kind, 0):,}"
        for kind in sorted({*before["items"], *now["items"]})
        if before["items"].get(kind, 0) != now["items"].get(kind, 0)
    ]
    return [f"Items: {', '.join(counts)}."] if counts else []


def _labels(before: Summary, now: Summary) -> list[str]:
    old, new = before["labels"], now["labels"]
    moved = {name: new.get(name, 0) - old.get(name, 0) for name in {*old, *new}}
    listed = sorted((name for name in moved if moved[name]), key=lambda name: (-abs(moved[name]), name))
    if not listed:
        return []
    words = ", ".join(f"{name} {moved[name]:+,}" for name in listed[:LISTED])
    return [f"Labels: {words}{_more(len(listed))}."]


def _results(before: Summary, now: Summary) -> list[str]:
    sentences = []
    for system, result in now["systems"].items():
        old = before["systems"].get(system)
        if old is None:
            sentences.append(f"{system}: measured for the first time, {result['measure']} {result['mean']:.3f}.")
            continue
        parts = []
        if result["served"] != old["served"]:
            parts.append(f"{result['served']} answers now, instead of {old['served']}")
        if round(result["mean"] - old["mean"], 3):
            inside = old["low"] <= result["mean"] <= old["high"]
            noise = "within the interval of before" if inside else "outside the interval of before"
            parts.append(f"{result['measure']} {old['mean']:.3f} → {result['mean']:.3f}, {noise}")
        shifts = {n: share - old["names"][n] for n, share in result["names"].items() if n in old["names"]}
        for word, sign in (("better", 1), ("worse", -1)):
            found = sorted((n for n in shifts if sign * shifts[n] >= MOVED), key=lambda n: (-sign * shifts[n], n))
            if found:
                parts.append(f"{word}: {', '.join(found[:LISTED])}{_more(len(found))}")
        if parts:
            sentences.append(f"{system}: {'; '.join(parts)}.")
    gone = [system for system in before["systems"] if system not in now["systems"]]
    return [*sentences, *(f"{system} is not measured any more." for system in gone)]


def _settings(before: Summary, now: Summary) -> list[str]:
    old, new = before["settings"], now["settings"]
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    if not changed:
        return []
    words = ", ".join(f"{key} {_short(old.get(key))} → {_short(new.get(key))}" for key in changed[:LISTED])
    return [f"Settings: {words}{_more(len(changed))}."]


def _short(value: str | None) -> str:
    return "(none)" if value is None else value if len(value) <= 40 else f"{value[:39]}…"


def _more(count: int) -> str:
    return f" and {count - LISTED} more" if count > LISTED else ""


def fingerprint(item: str) -> str:
    """A short name of an item, to compare versions by."""
    return hashlib.sha256(item.encode()).hexdigest()[:10]
