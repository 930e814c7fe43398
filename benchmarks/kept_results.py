"""What benchmarks keep between runs: files that are written at once or not at all, with keys that cover the sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mediarank


def store(path: Path, write: Callable[[Any], None]) -> None:
    """Write a file at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        write(file)
    part.replace(path)


def store_json(path: Path, value: Any) -> None:
    store(path, lambda file: file.write(json.dumps(value).encode()))


def source_digest(names: Sequence[str], *beside: Path) -> str:
    """A digest of modules and packages of mediarank, and of files beside a benchmark."""
    root = Path(mediarank.__file__).parent
    files = [path for name in names for path in ([root / name] if name.endswith(".py") else (root / name).glob("*.py"))]
    return digest(b"".join(path.read_bytes() for path in [*sorted(files), *beside]))


def digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[:24]
