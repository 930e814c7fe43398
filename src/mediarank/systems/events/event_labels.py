"""Which clips show which event, from the labels."""

from __future__ import annotations

from mediarank.labels import Labels


def shown_events(labels: Labels) -> dict[str, frozenset[str]]:
    """event -> the clips that show it, events in the order of their names"""
    table = labels["events"]
    table = table[table["relevant"].astype(bool)]
    return {str(event): frozenset(clips) for event, clips in table.groupby("event", sort=True)["clip"]}
