"""The line `pretrained: true` of params.yaml: without it, only the papers' hand-made features are used.

Then every feature type of the family `network` is taken out of `features`, of `base_models` and of the settings of all
systems, so that nobody has to look for the places that name one.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

from mediarank.types import ConfigError

KEY: Final = "pretrained"
FAMILY: Final = "network"


def effective(values: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of params.yaml as they count: all of them, or all but what needs a pretrained network."""
    wanted = values.get(KEY, False)
    if not isinstance(wanted, bool):
        raise ConfigError(f"params.yaml: {KEY} must be true or false (found {wanted!r}).")
    return dict(values) if wanted else _without_networks(dict(values))


def _without_networks(sections: dict[str, Any]) -> dict[str, Any]:
    features = sections.get("features")
    if not isinstance(features, Mapping):
        return sections
    types = {name for name, kind in features.items() if isinstance(kind, Mapping) and kind.get("family") == FAMILY}
    for section in ("features", "base_models"):
        if isinstance(sections.get(section), Mapping):
            sections[section] = {name: kept for name, kept in sections[section].items() if name not in types}
    if "systems" in sections:
        sections["systems"] = _without(sections["systems"], types)
    return sections


def _without(settings: Any, names: Set[str]) -> Any:
    """Settings without the entries that name one of these types.

    A key whose value is one of them goes as well, and with it what lists that key: a classifier of events, say.
    """
    if isinstance(settings, Mapping):
        gone = {key for key, value in settings.items() if isinstance(value, str) and value in names}
        return {key: _without(value, names | gone) for key, value in settings.items() if key not in gone}
    if isinstance(settings, list):
        return [_without(entry, names) for entry in settings if not _names_one(entry, names)]
    return settings


def _names_one(entry: Any, names: Set[str]) -> bool:
    found = entry.values() if isinstance(entry, Mapping) else [entry]
    return any(isinstance(value, str) and value in names for value in found)
