"""`--json`: the same answer for programs, on every command that prints a table."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="print JSON instead, for programs")]


def print_json(value: Any) -> None:
    """Print dataclasses, tables and plain values as JSON; what is not a number is null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a pandas table
        return _plain(value.to_dict("records"))
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if hasattr(value, "item") and not isinstance(value, str):  # a numpy number
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
