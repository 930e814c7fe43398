"""dvc.lock as text: replace the entry of one stage, or put the entries in another order, without parsing the rest.

DVC parses and writes the whole file for each stage that it records, in a parser that keeps comments and is slow: with
36 stages, each with the hashes of the code that it runs, that took a second per stage. Entries are independent blocks
of lines, so one of them is written as DVC writes it and takes the place of the old one. The bytes are those that DVC
leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HEAD = "schema: '2.0'\nstages:\n"


def entries(text: str) -> dict[str, str] | None:
    """The lines of each stage, by its name, in their order; nothing if the text is not as DVC writes it."""
    import yaml

    if not text.startswith(HEAD):
        return None
    blocks: dict[str, str] = {}
    name = None
    for line in text[len(HEAD) :].splitlines(keepends=True):
        if not line.startswith("  "):
            return None  # another section, or a comment
        if line[2] not in " -":
            found = yaml.safe_load(line)
            if not isinstance(found, dict) or len(found) != 1 or next(iter(found.values())) is not None:
                return None
            name = str(next(iter(found)))
            blocks[name] = ""
        if name is None:
            return None
        blocks[name] += line
    return blocks


def joined(blocks: dict[str, str], order: Sequence[str]) -> str:
    """The text of the entries in an order."""
    return HEAD + "".join(blocks[name] for name in order)


def with_entry(text: str, name: str, content: Any) -> str | None:
    """The text with another content for one stage, in its old place or at the end; nothing if DVC has to do it.

    content : as DVC's `to_single_stage_lockfile` gives it
    """
    from dvc.utils.serialize import dumps_yaml

    written = entries(dumps_yaml({"schema": "2.0", "stages": {name: content}}))
    blocks = entries(text) if text else {}
    if blocks is None or written is None or list(written) != [name]:
        return None
    blocks[name] = written[name]
    return joined(blocks, list(blocks))
